#include "broker/login.h"

#include "wire/big_endian.h"
#include "wire/table_check.h"

#include <amqp.h>
#include <stdlib.h>
#include <string.h>

#define POOL_PAGE 4096

bool ace_broker_login_mechanism_known(ace_bytes mechanism)
{
    return ace_bytes_equal_text(mechanism, "PLAIN") || ace_bytes_equal_text(mechanism, "AMQPLAIN");
}

static ace_broker_login check(const ace_broker_core *core, ace_bytes name, ace_bytes password,
                              const ace_broker_user **user)
{
    for (size_t i = 0; i < core->user_count; i++) {
        if (ace_bytes_equal_text(name, core->users[i].name) &&
            ace_bytes_equal_text(password, core->users[i].password)) {
            *user = &core->users[i];
            return ACE_BROKER_LOGIN_ACCEPTED;
        }
    }
    return ACE_BROKER_LOGIN_REFUSED;
}

/* NUL, the name, NUL, the password; RabbitMQ takes no authorisation identity in front. */
static ace_broker_login check_plain(const ace_broker_core *core, ace_bytes response,
                                    const ace_broker_user **user)
{
    const uint8_t *end = response.data + response.length;
    const uint8_t *name;
    const uint8_t *password;

    if (response.length < 2 || response.data[0] != 0)
        return ACE_BROKER_LOGIN_MALFORMED;
    name = response.data + 1;
    password = memchr(name, 0, (size_t)(end - name));
    if (!password || memchr(password + 1, 0, (size_t)(end - password - 1)))
        return ACE_BROKER_LOGIN_MALFORMED;
    return check(core, (ace_bytes){name, (size_t)(password - name)},
                 (ace_bytes){password + 1, (size_t)(end - password - 1)}, user);
}

static ace_broker_login check_table(const ace_broker_core *core, const amqp_table_t *table,
                                    const ace_broker_user **user)
{
    const amqp_field_value_t *name = ace_table_find(table, "LOGIN");
    const amqp_field_value_t *password = ace_table_find(table, "PASSWORD");

    if (!name || !password || name->kind != AMQP_FIELD_KIND_UTF8 ||
        password->kind != AMQP_FIELD_KIND_UTF8)
        return ACE_BROKER_LOGIN_MALFORMED;
    return check(core, ace_bytes_from_amqp(name->value.bytes),
                 ace_bytes_from_amqp(password->value.bytes), user);
}

/* A table without its length in front. */
static ace_broker_login check_amqplain(const ace_broker_core *core, ace_bytes response,
                                       const ace_broker_user **user)
{
    size_t length = response.length + 4;
    uint8_t *bytes = malloc(length);
    ace_table_shape shape;
    amqp_pool_t pool;
    amqp_table_t table;
    size_t offset = 0;
    ace_broker_login result = ACE_BROKER_LOGIN_MALFORMED;

    if (!bytes)
        return ACE_BROKER_LOGIN_REFUSED;
    ace_write_u32(bytes, (uint32_t)response.length);
    if (response.length > 0)
        memcpy(bytes + 4, response.data, response.length);
    init_amqp_pool(&pool, POOL_PAGE);
    if (ace_table_check(bytes, length, "response", &shape, NULL) == ACE_OK &&
        amqp_decode_table((amqp_bytes_t){length, bytes}, &pool, &table, &offset) == 0)
        result = check_table(core, &table, user);
    empty_amqp_pool(&pool);
    free(bytes);
    return result;
}

ace_broker_login ace_broker_login_check(const ace_broker_core *core, ace_bytes mechanism,
                                        ace_bytes response, const ace_broker_user **user)
{
    if (ace_bytes_equal_text(mechanism, "PLAIN"))
        return check_plain(core, response, user);
    return check_amqplain(core, response, user);
}
