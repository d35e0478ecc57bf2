#include "acemq/health.h"

#include "arguments.h"
#include "client.h"
#include "engine/health.h"

_Static_assert((int)ACEMQ_HEALTH_UP == (int)ACE_HEALTH_UP &&
                   (int)ACEMQ_HEALTH_DEGRADED == (int)ACE_HEALTH_DEGRADED &&
                   (int)ACEMQ_HEALTH_DOWN == (int)ACE_HEALTH_DOWN,
               "one numbering of the healths");

acemq_status acemq_health_check(const acemq_connection *connection, acemq_health *health,
                                char **json, acemq_error **error)
{
    ace_code code = ace_connection_check_known(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_present(health, "health", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_health_report report;
    /* What is looked at does not change by it; its locks do. */
    code = ace_health_read((ace_connection *)(uintptr_t)connection, &report, error);
    if (code == ACE_OK && json != NULL && (*json = ace_health_json(&report)) == NULL) {
        code = ace_fail_memory(error);
    }
    if (code == ACE_OK) {
        *health = (acemq_health)report.health;
    }
    ace_health_release(&report);
    return (acemq_status)code;
}

const char *acemq_health_name(acemq_health health)
{
    return ace_health_name((ace_health)health);
}
