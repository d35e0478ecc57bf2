#include "contract/plan.h"
#include "contract/value_json.h"

#include <stdlib.h>

bool ace_declaration_title(const ace_declaration *declaration, ace_buffer *out)
{
    switch (declaration->kind) {
    case ACE_DECLARE_EXCHANGE:
        return ace_buffer_format(out, "exchange %s", declaration->name);
    case ACE_DECLARE_QUEUE:
        return ace_buffer_format(out, "queue %s", declaration->name);
    case ACE_DECLARE_BINDING:
    default:
        return ace_buffer_format(out, "binding of %s to %s on %s", declaration->name,
                                 declaration->exchange, declaration->key);
    }
}

static bool append_argument(const amqp_table_entry_t *entry, const char *before, ace_buffer *out)
{
    json_t *json = ace_value_to_json(&entry->value, false);
    if (json == NULL) {
        return false;
    }
    const char *plain = json_string_value(json);
    char *dumped = NULL;
    if (plain == NULL) {
        dumped = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);
        plain = dumped;
    }
    bool good = plain != NULL && ace_buffer_format(out, "%s%.*s=%s", before, (int)entry->key.len,
                                                   (const char *)entry->key.bytes, plain);
    free(dumped);
    json_decref(json);
    return good;
}

static bool append_arguments(const ace_declaration *declaration, ace_buffer *out)
{
    const amqp_table_t *arguments = &declaration->arguments;
    bool first = true;
    for (int i = 0; i < arguments->num_entries; i++) {
        const amqp_table_entry_t *entry = &arguments->entries[i];
        if (ace_bytes_equal_text(ace_bytes_from_amqp(entry->key), "x-queue-type")) {
            continue; /* the type stands in front */
        }
        if (!append_argument(entry, first ? "; " : ", ", out)) {
            return false;
        }
        first = false;
    }
    return true;
}

bool ace_declaration_format(const ace_declaration *declaration, ace_buffer *out)
{
    if (!ace_declaration_title(declaration, out)) {
        return false;
    }
    if (declaration->kind == ACE_DECLARE_BINDING) {
        return true;
    }
    return ace_buffer_format(out, " (%s, %s%s%s%s", declaration->type,
                             declaration->durable ? "durable" : "transient",
                             declaration->exclusive ? ", exclusive" : "",
                             declaration->auto_delete ? ", auto-delete" : "",
                             declaration->internal ? ", internal" : "") &&
           append_arguments(declaration, out) && ace_buffer_append_text(out, ")");
}
