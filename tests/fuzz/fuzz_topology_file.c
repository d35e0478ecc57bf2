/* Topology files: what reads can be planned and printed; what does not is refused with its place.
 */
#include "contract/plan.h"
#include "contract/topology_file.h"
#include "fuzz/fuzz.h"

static void check_plan(const ace_topology *topology)
{
    ace_plan plan = ACE_PLAN_INIT;
    ace_plan twice = ACE_PLAN_INIT;
    FUZZ_DEMAND(ace_topology_check(topology, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_plan_topology(topology, &plan, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_plan_append(&twice, &plan, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_plan_append(&twice, &plan, NULL) == ACE_OK);
    FUZZ_DEMAND(twice.count == plan.count);
    for (size_t i = 0; i < plan.count; i++) {
        ace_buffer line = ACE_BUFFER_INIT;
        FUZZ_DEMAND(ace_declaration_format(&plan.items[i], &line));
        FUZZ_DEMAND(ace_declaration_title(&plan.items[i], &line));
        FUZZ_DEMAND(ace_table_sendable("arguments", &plan.items[i].arguments, NULL) == ACE_OK);
        ace_buffer_free(&line);
    }
    ace_plan_release(&plan);
    ace_plan_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_topology topology = ACE_TOPOLOGY_INIT;
    ace_error *error = NULL;
    ace_code code = ace_topology_read((const char *)data, size, &topology, &error);
    if (code == ACE_OK) {
        check_plan(&topology);
    } else {
        fuzz_check_error(code, error);
        FUZZ_DEMAND(topology.exchange_count == 0 && topology.queue_count == 0);
    }
    ace_topology_release(&topology);
    return 0;
}
