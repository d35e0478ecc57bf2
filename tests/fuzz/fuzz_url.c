/* URLs: what parses is written without its password as a URL of the same place, and no password is
 * in any text that people may see. */
#include "engine/url.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "Sw0rdf1sh"

static void check_place(const ace_url *url)
{
    char place[300];
    char short_place[8];
    ace_url_place(url, place, sizeof place);
    ace_url_place(url, short_place, sizeof short_place);
    FUZZ_DEMAND(strlen(place) < sizeof place && strlen(short_place) < sizeof short_place);
    FUZZ_DEMAND((url->scheme == ACE_URL_MEMORY) == (url->memory_name != NULL));
    FUZZ_DEMAND((url->scheme == ACE_URL_MEMORY) == (url->endpoint_count == 0));
}

static bool host_holds_secret(const ace_url *url)
{
    for (size_t i = 0; i < url->endpoint_count; i++) {
        if (strstr(url->endpoints[i].host, SECRET) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_round_trip(const ace_url *url)
{
    ace_url again;
    char *redacted = ace_url_redacted(url);
    FUZZ_DEMAND(redacted != NULL);
    FUZZ_DEMAND(strstr(redacted, SECRET) == NULL || strstr(url->user, SECRET) != NULL ||
                strstr(url->vhost, SECRET) != NULL ||
                (url->memory_name != NULL && strstr(url->memory_name, SECRET) != NULL) ||
                host_holds_secret(url));
    FUZZ_DEMAND(ace_url_parse(redacted, &again, NULL) == ACE_OK);
    FUZZ_DEMAND(strcmp(again.vhost, url->vhost) == 0);
    FUZZ_DEMAND(strcmp(again.user, url->user) == 0);
    if (url->scheme == ACE_URL_MEMORY) {
        FUZZ_DEMAND(strcmp(again.memory_name, url->memory_name) == 0);
    }
    FUZZ_DEMAND(again.scheme == url->scheme && again.endpoint_count == url->endpoint_count);
    for (size_t i = 0; i < url->endpoint_count; i++) {
        FUZZ_DEMAND(strcmp(again.endpoints[i].host, url->endpoints[i].host) == 0);
        FUZZ_DEMAND(again.endpoints[i].port == url->endpoints[i].port);
    }
    ace_url_free(&again);
    free(redacted);
}

static void parse(const char *text)
{
    ace_url url;
    ace_error *error = NULL;
    ace_code code = ace_url_parse(text, &url, &error);
    if (code != ACE_OK) {
        FUZZ_DEMAND(strstr(ace_error_message(error), SECRET) == NULL);
        fuzz_check_error(code, error);
        ace_url_free(&url);
        return;
    }
    check_place(&url);
    check_round_trip(&url);
    ace_url_free(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char before[] = "amqp://user:" SECRET;
    char *text = malloc(sizeof before + size);
    FUZZ_DEMAND(text != NULL);
    memcpy(text, before, sizeof before - 1);
    memcpy(text + sizeof before - 1, data, size);
    text[sizeof before - 1 + size] = '\0';
    parse(text + sizeof before - 1);
    parse(text);
    free(text);
    return 0;
}
