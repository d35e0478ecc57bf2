/* Who a client says it is. */
#ifndef ACE_BROKER_LOGIN_H
#define ACE_BROKER_LOGIN_H

#include "broker/state.h"

typedef enum ace_broker_login {
    ACE_BROKER_LOGIN_ACCEPTED,
    ACE_BROKER_LOGIN_REFUSED,   /* the name or the password */
    ACE_BROKER_LOGIN_MALFORMED, /* the response is none */
} ace_broker_login;

#define ACE_BROKER_LOGIN_MECHANISMS "PLAIN AMQPLAIN"

bool ace_broker_login_mechanism_known(ace_bytes mechanism);
/* `response` is what connection.start-ok carries. *user is the core's own record. */
ace_broker_login ace_broker_login_check(const ace_broker_core *core, ace_bytes mechanism,
                                        ace_bytes response, const ace_broker_user **user);

#endif
