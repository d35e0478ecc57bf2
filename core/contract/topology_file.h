/* The JSON form of a topology that `acemq topology` reads. */
#ifndef ACE_CONTRACT_TOPOLOGY_FILE_H
#define ACE_CONTRACT_TOPOLOGY_FILE_H

#include "contract/topology.h"

/* Adds what the text describes to an empty topology and checks the whole. Errors begin with the
 * place: "line 3, column 5: ..." for JSON that does not read, "queues[1].retry: ..." for what does
 * not fit. Unknown members are refused. On failure the topology is empty. */
ace_code ace_topology_read(const char *text, size_t length, ace_topology *topology,
                           ace_error **error);

#endif
