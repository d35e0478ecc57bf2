/* engine/connector.h: every connect is answered at once, by the broker of the simulation. */
#include "engine/connector.h"
#include "fuzz/fuzz.h"
#include "fuzz/simulation.h"

#include <stdlib.h>
#include <string.h>

memory_stream *simulation_accept(void);

struct ace_connector {
    ace_connected result;
};

ace_code ace_connector_start(const ace_settings *settings, const ace_url *url, ace_host_turn turn,
                             ace_loop *loop, ace_task *done, int64_t deadline,
                             ace_connector **connector, ace_error **error)
{
    (void)deadline;
    ace_connector *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    memory_stream *stream = simulation_accept();
    if (stream == NULL) {
        ace_fail(&made->result.error, ACE_UNREACHABLE, "fuzz: connection refused");
    } else {
        made->result.stream = &stream->stream;
        made->result.host = turn.first;
        FUZZ_DEMAND(ace_settings_credentials(settings, url, &made->result.credentials, NULL) ==
                    ACE_OK);
    }
    FUZZ_DEMAND(ace_loop_post(loop, done));
    *connector = made;
    return ACE_OK;
}

void ace_connector_finish(ace_connector *connector, ace_connected *connected)
{
    *connected = connector->result;
    free(connector);
}

void ace_connector_give_up(ace_connector *connector)
{
    (void)connector;
}

bool ace_connector_is_asking(ace_connector *connector)
{
    (void)connector;
    return false;
}

void ace_connector_abandon(ace_connector *connector, int64_t deadline)
{
    (void)deadline;
    ace_error_free(connector->result.error);
    ace_stream_close(connector->result.stream);
    ace_credentials_free(&connector->result.credentials);
    free(connector);
}
