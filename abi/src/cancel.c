#include "acemq/cancel.h"

#include "arguments.h"
#include "engine/cancel.h"

acemq_status acemq_cancel_new(acemq_cancel **cancel, acemq_error **error)
{
    ace_code code = ace_argument_present(cancel, "cancel", error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_cancel *made = ace_cancel_new(error);
    if (made == NULL) {
        return ACEMQ_E_OUT_OF_MEMORY;
    }
    *cancel = made;
    return ACEMQ_OK;
}

void acemq_cancel_fire(acemq_cancel *cancel)
{
    if (cancel != NULL) {
        ace_cancel_fire(cancel);
    }
}

void acemq_cancel_reset(acemq_cancel *cancel)
{
    if (cancel != NULL) {
        ace_cancel_reset(cancel);
    }
}

int acemq_cancel_fired(const acemq_cancel *cancel)
{
    return ace_cancel_fired(cancel);
}

void acemq_cancel_free(acemq_cancel *cancel)
{
    ace_cancel_release(cancel);
}
