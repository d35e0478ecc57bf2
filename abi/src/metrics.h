/* Observations on their way out. */
#ifndef ACE_DOOR_METRICS_H
#define ACE_DOOR_METRICS_H

#include "acemq/metrics.h"
#include "engine/connection.h"

/* Every observation of this connection becomes an event, from a registry of its own. */
ace_code ace_metrics_by_event(ace_connection *connection, ace_error **error);

#endif
