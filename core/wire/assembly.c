#include "wire/assembly.h"

#include "wire/big_endian.h"
#include "wire/method.h"
#include "wire/method_fields.h"
#include "wire/property_fields.h"
#include "wire/property_read.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* A body up to this size shares the record's block. */
#define INLINE_BODY_MAX 4096u
/* What is allocated at first for a larger one, whatever the header claims. */
#define FIRST_BODY_CAPACITY (256u * 1024u)

typedef struct record {
    ace_content content; /* first, so that one is the other */
    size_t capacity;     /* of the block */
    size_t block_size;   /* of it, what is filled; the room does not count */
    bool has_room;
    size_t large_capacity; /* of a body that is an allocation of its own; 0: it is in the block */
} record;

/* Where the parts of a record's block lie. */
typedef struct block_plan {
    size_t room;
    size_t decoded_method;
    size_t decoded_properties;
    size_t method;
    size_t properties;
    size_t stripped;
    size_t body;
    size_t size;
} block_plan;

static const uint8_t no_body[1] = {0};

static size_t align(size_t size)
{
    return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static record *record_of(ace_content *content)
{
    return (record *)(void *)content;
}

/* Constant to everybody else; never asked before there is room. */
static uint8_t *body_of(const record *owner)
{
    return (uint8_t *)owner->content.body.data;
}

static void release(record *owner)
{
    ace_error_free(owner->content.fault);
    if (owner->large_capacity > 0) {
        free(body_of(owner));
    }
}

void ace_content_free(ace_content *content)
{
    if (content == NULL) {
        return;
    }
    release(record_of(content));
    free(record_of(content));
}

void *ace_content_room(ace_content *content)
{
    record *owner = record_of(content);
    return owner->has_room ? (uint8_t *)owner + align(sizeof *owner) : NULL;
}

size_t ace_content_memory(const ace_content *content)
{
    const record *owner = (const record *)(const void *)content;
    return owner->block_size + owner->large_capacity;
}

ace_code ace_content_whole(const ace_content *content, uint64_t limit, ace_error **error)
{
    if (content->skipped == 0) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT, "body has %llu bytes, the limit is %llu",
             (unsigned long long)content->skipped, (unsigned long long)limit);
    ace_error_field(error, "body", (long long)limit);
    return ACE_LIMIT;
}

void ace_assembly_init(ace_assembly *assembly, uint64_t body_max)
{
    memset(assembly, 0, sizeof *assembly);
    assembly->body_max = body_max;
    assembly->body_kept = body_max;
}

void ace_assembly_keep(ace_assembly *assembly, uint64_t largest)
{
    assembly->body_kept = largest;
}

void ace_assembly_leave_room(ace_assembly *assembly, size_t room)
{
    assembly->room = room;
}

void ace_assembly_give_back(ace_assembly *assembly, ace_content *content)
{
    record *owner = record_of(content);
    release(owner);
    ace_blocks_give(&assembly->spare, owner, owner->capacity);
}

void ace_assembly_reset(ace_assembly *assembly)
{
    ace_content_free(assembly->open);
    ace_buffer_free(&assembly->heads);
    ace_blocks_free(&assembly->spare);
    uint64_t kept = assembly->body_kept;
    size_t room = assembly->room;
    ace_assembly_init(assembly, assembly->body_max);
    assembly->body_kept = kept;
    assembly->room = room;
}

bool ace_assembly_is_empty(const ace_assembly *assembly)
{
    return assembly->open == NULL && assembly->heads.length == 0;
}

/* --- method --------------------------------------------------------------------------------- */

static ace_code take_method(ace_assembly *assembly, const ace_frame *frame, ace_error **error)
{
    amqp_method_number_t id = ace_method_id(frame->payload);
    if (!ace_assembly_is_empty(assembly)) {
        return ace_fail(error, ACE_PROTOCOL, "%s on channel %u inside a content",
                        ace_method_name(id), frame->channel);
    }
    if (!ace_method_has_content(id)) {
        return ACE_OK;
    }
    if (!ace_buffer_append(&assembly->heads, frame->payload.data, frame->payload.length)) {
        return ace_fail_memory(error);
    }
    return ace_method_check(assembly->heads.data, assembly->heads.length, &assembly->decoded,
                            error);
}

/* --- header --------------------------------------------------------------------------------- */

/* The parts of the assembly's buffer once the header frame is in it. */
typedef struct heads {
    uint8_t *method;
    size_t method_length;
    uint8_t *list; /* property flags and list */
    size_t list_length;
    size_t decoded_method;
    ace_property_shape shape;
    ace_code code; /* of the properties */
    ace_error *fault;
} heads;

static ace_code read_heads(ace_assembly *assembly, const ace_frame *frame, heads *parts,
                           ace_error **error)
{
    parts->method_length = assembly->heads.length;
    parts->list_length = frame->payload.length - ACE_CONTENT_HEAD_SIZE;
    if (!ace_buffer_append(&assembly->heads, frame->payload.data + ACE_CONTENT_HEAD_SIZE,
                           parts->list_length)) {
        ace_fail_memory(error);
        return ACE_OUT_OF_MEMORY;
    }
    parts->method = assembly->heads.data;
    parts->list = parts->method + parts->method_length;
    parts->decoded_method = assembly->decoded;
    parts->code =
        ace_properties_check(parts->list, parts->list_length, &parts->shape, &parts->fault);
    return ACE_OK;
}

static block_plan plan_block(const ace_assembly *assembly, const heads *parts, uint64_t body_size)
{
    block_plan plan;
    size_t room = assembly->room == 0 ? 0 : align(assembly->room + parts->method_length);
    plan.room = align(sizeof(record));
    plan.decoded_method = plan.room + room;
    plan.decoded_properties = plan.decoded_method + parts->decoded_method;
    plan.method = plan.decoded_properties + parts->shape.decoded;
    plan.properties = plan.method + parts->method_length;
    plan.stripped = plan.properties + parts->list_length;
    plan.body = plan.stripped + (parts->code == ACE_OK ? 0 : parts->list_length);
    plan.size = plan.body + (body_size <= INLINE_BODY_MAX ? (size_t)body_size : 0);
    return plan;
}

/* Where the list lies that is read: without what could not be. */
static uint8_t *readable_list(record *owner, const heads *parts, const block_plan *plan)
{
    if (parts->code == ACE_OK) {
        return (uint8_t *)owner + plan->properties;
    }
    uint8_t *list = (uint8_t *)owner + plan->stripped;
    memcpy(list, parts->list, parts->list_length);
    if (parts->shape.table_size > 0) {
        (void)ace_properties_strip_table(list, parts->list_length, &parts->shape);
    } else {
        ace_write_u16(list, 0);
    }
    return list;
}

static void fill_record(record *owner, heads *parts, const block_plan *plan)
{
    uint8_t *base = (uint8_t *)owner;
    memcpy(base + plan->method, parts->method, parts->method_length);
    memcpy(base + plan->properties, parts->list, parts->list_length);
    owner->content.properties_raw = (ace_bytes){base + plan->properties, parts->list_length};
    owner->content.fault = parts->fault;
    parts->fault = NULL;
    ace_method_read(base + plan->method, base + plan->decoded_method, &owner->content.method);
    owner->content.properties =
        ace_properties_read(readable_list(owner, parts, plan), base + plan->decoded_properties);
}

static ace_code open_content(ace_assembly *assembly, uint16_t channel, heads *parts,
                             ace_error **error)
{
    bool skips = assembly->body_size > assembly->body_kept;
    block_plan plan = plan_block(assembly, parts, skips ? 0 : assembly->body_size);
    size_t capacity;
    record *owner = ace_blocks_take(&assembly->spare, plan.size, &capacity);
    if (owner == NULL) {
        return ace_fail_memory(error);
    }
    *owner = (record){.capacity = capacity,
                      .block_size = plan.size - (plan.decoded_method - plan.room),
                      .has_room = assembly->room > 0};
    owner->content.channel = channel;
    owner->content.body.data = no_body;
    owner->content.skipped = skips ? assembly->body_size : 0;
    assembly->body_received = 0;
    if (!skips && assembly->body_size > 0 && assembly->body_size <= INLINE_BODY_MAX) {
        owner->content.body.data = (uint8_t *)owner + plan.body;
        assembly->body_capacity = (size_t)assembly->body_size;
    }
    fill_record(owner, parts, &plan);
    assembly->open = &owner->content;
    return ACE_OK;
}

static ace_code check_body_size(ace_assembly *assembly, const ace_frame *frame, ace_error **error)
{
    ace_code code = ace_content_check_head(frame->payload.data, frame->payload.length,
                                           &assembly->body_size, error);
    if (code != ACE_OK) {
        return code;
    }
    uint64_t limit = assembly->body_max > SIZE_MAX / 4 ? SIZE_MAX / 4 : assembly->body_max;
    if (assembly->body_size > limit) {
        ace_fail(error, ACE_LIMIT, "a body on channel %u claims %llu bytes, the limit is %llu",
                 frame->channel, (unsigned long long)assembly->body_size,
                 (unsigned long long)limit);
        ace_error_field(error, "body", (long long)limit);
        return ACE_LIMIT;
    }
    return ACE_OK;
}

static ace_code take_header(ace_assembly *assembly, const ace_frame *frame, ace_error **error)
{
    if (assembly->open != NULL || assembly->heads.length == 0) {
        return ace_fail(error, ACE_PROTOCOL, "a header frame on channel %u %s", frame->channel,
                        assembly->open != NULL ? "inside a body" : "that no method announced");
    }
    ace_code code = check_body_size(assembly, frame, error);
    if (code != ACE_OK) {
        return code;
    }
    heads parts = {0};
    code = read_heads(assembly, frame, &parts, error);
    if (code == ACE_OK) {
        code = open_content(assembly, frame->channel, &parts, error);
    }
    ace_error_free(parts.fault);
    ace_buffer_clear(&assembly->heads);
    return code;
}

/* --- body ----------------------------------------------------------------------------------- */

/* Doubling up to what the header claims, from what has arrived. */
static ace_code grow_body(ace_assembly *assembly, record *owner, size_t needed, ace_error **error)
{
    size_t capacity = owner->large_capacity == 0 ? FIRST_BODY_CAPACITY : 2 * owner->large_capacity;
    if (capacity < needed) {
        capacity = needed;
    }
    if (capacity > assembly->body_size) {
        capacity = (size_t)assembly->body_size;
    }
    uint8_t *body = realloc(owner->large_capacity == 0 ? NULL : body_of(owner), capacity);
    if (body == NULL) {
        return ace_fail_memory(error);
    }
    owner->large_capacity = capacity;
    owner->content.body.data = body;
    assembly->body_capacity = capacity;
    return ACE_OK;
}

static ace_code take_body(ace_assembly *assembly, const ace_frame *frame, ace_error **error)
{
    if (assembly->open == NULL) {
        return ace_fail(error, ACE_PROTOCOL, "a body frame on channel %u that no header announced",
                        frame->channel);
    }
    record *owner = record_of(assembly->open);
    size_t length = frame->payload.length;
    if (length > assembly->body_size - assembly->body_received) {
        return ace_fail(error, ACE_PROTOCOL,
                        "a body on channel %u has at least %llu bytes, its header says %llu",
                        frame->channel, (unsigned long long)assembly->body_received + length,
                        (unsigned long long)assembly->body_size);
    }
    assembly->body_received += length;
    if (owner->content.skipped > 0) {
        return ACE_OK;
    }
    size_t before = owner->content.body.length;
    if (before + length > assembly->body_capacity) {
        ace_code code = grow_body(assembly, owner, before + length, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    if (length > 0) {
        memcpy(body_of(owner) + before, frame->payload.data, length);
    }
    owner->content.body.length += length;
    return ACE_OK;
}

/* --- the whole ------------------------------------------------------------------------------ */

static ace_code take(ace_assembly *assembly, const ace_frame *frame, ace_error **error)
{
    switch (frame->type) {
    case ACE_FRAME_METHOD:
        return take_method(assembly, frame, error);
    case ACE_FRAME_HEADER:
        return take_header(assembly, frame, error);
    case ACE_FRAME_BODY:
        return take_body(assembly, frame, error);
    default:
        return ACE_OK;
    }
}

ace_code ace_assembly_take(ace_assembly *assembly, const ace_frame *frame, ace_content **done,
                           ace_error **error)
{
    *done = NULL;
    ace_code code = take(assembly, frame, error);
    if (code != ACE_OK) {
        ace_assembly_reset(assembly);
        return code;
    }
    ace_content *open = assembly->open;
    if (open != NULL && assembly->body_received == assembly->body_size) {
        *done = open;
        assembly->open = NULL;
        assembly->body_size = 0;
        assembly->body_received = 0;
        assembly->body_capacity = 0;
    }
    return ACE_OK;
}
