#include "acemq/broker.h"

#include "arguments.h"
#include "base/handle.h"
#include "broker/broker.h"

#include <stdlib.h>

#define MAGIC ACE_MAGIC('B', 'R', 'O', 'K')

struct acemq_broker {
    ace_handle handle;
    ace_broker *broker;
};

acemq_status acemq_broker_start(acemq_broker **broker, acemq_error **error)
{
    ace_code code = ace_argument_present(broker, "broker", error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_broker *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = ace_broker_start(NULL, &made->broker, error);
    if (code != ACE_OK) {
        free(made);
        return (acemq_status)code;
    }
    ace_handle_init(&made->handle, MAGIC);
    *broker = made;
    return ACEMQ_OK;
}

acemq_status acemq_broker_listen(acemq_broker *broker, const char *host, int port, int *bound,
                                 acemq_error **error)
{
    ace_code code =
        ace_handle_check(broker == NULL ? NULL : &broker->handle, MAGIC, "broker", error);
    if (code == ACE_OK) {
        code = ace_argument_text(host, "host", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(port, 0, UINT16_MAX, "port", error);
    }
    uint16_t bound_port = 0;
    if (code == ACE_OK) {
        code = ace_broker_listen(broker->broker, host, (uint16_t)port, &bound_port, error);
    }
    if (code == ACE_OK && bound != NULL) {
        *bound = bound_port;
    }
    return (acemq_status)code;
}

void acemq_broker_free(acemq_broker *broker)
{
    if (broker != NULL && ace_handle_release(&broker->handle)) {
        ace_broker_release(broker->broker);
        free(broker);
    }
}
