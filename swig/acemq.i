/*
 * The whole ABI for scripting languages. Names lose their prefix; a handle is an object that its collector frees; what a
 * call writes through a pointer is what it returns; a status that is not ACEMQ_OK is an exception. What a language makes
 * of each of these stands in its own file of typemaps.
 */
#ifdef SWIGCSHARP
%module Mq
#else
%module acemq
#endif

%{
#include "lending.h"
%}
#ifndef SWIGCSHARP
%init %{
    lending_start();
%}
#endif

%include <stdint.i>

/* Calls of the loader's and of the language's own do not count: only what waits lets other threads run meanwhile. */
#if defined(SWIGPYTHON)
%include "typemaps_python.i"
#elif defined(SWIGRUBY)
%include "typemaps_ruby.i"
#elif defined(SWIGLUA)
%include "typemaps_lua.i"
#elif defined(SWIGCSHARP)
%include "typemaps_csharp.i"
#endif

/* What may be left out, at the end of the arguments. */
%typemap(default) const acemq_connect_options *options, const acemq_consumer_options *options,
    const acemq_group_options *options, const acemq_ordered_options *options, const acemq_publisher_options *options,
    const acemq_browser_options *options, const acemq_replay_options *options,
    const acemq_idempotency_options *options, const acemq_outbox_options *options, const acemq_relay_options *options,
    const acemq_metrics_options *options, const acemq_claim_directory_options *options,
    const acemq_policy *retry, const acemq_table *arguments, const char *reason "$1 = NULL;"

/* --- names: acemq_publish_to is publish_to, acemq_connect_options the class ConnectOptions --- */

%define %camel_case "%(regex:/^acemq_([a-z0-9]+)_?([a-z0-9]*)_?([a-z0-9]*)_?([a-z0-9]*)_?([a-z0-9]*)/\\u\\1\\u\\2\\u\\3\\u\\4\\u\\5/)s"
%enddef
%rename(%camel_case, %$isclass) "";
%rename(%camel_case, %$isenum) "";
%rename("%(regex:/^ACEMQ_(.*)/\\1/)s", %$isenumitem) "";
%rename("%(regex:/^ACEMQ_(.*)/\\1/)s", %$isconstant) "";
#ifdef SWIGCSHARP
%rename(%camel_case, %$isfunction, %$not %$ismember) "";
#else
%rename("%(regex:/^acemq_(.*)/\\1/)s", %$isfunction, %$not %$ismember) "";
#endif

#define INT64_C(number) number
#define ACEMQ_API
%ignore ACEMQ_BEGIN;
%ignore ACEMQ_END;
%ignore ACEMQ_FOREVER;
%ignore ACEMQ_MILLISECOND;
%ignore ACEMQ_SECOND;
%ignore ACEMQ_MINUTE;
%ignore ACEMQ_HOUR;
%ignore ACEMQ_DAY;
%ignore ACEMQ_CLAIM_THRESHOLD;
%ignore ACEMQ_OUTCOME_PUT_BACK;
%rename("$ignore", regextarget=1, %$isconstant) "^ACEMQ_.*_(INIT|SIZE)$";

/* --- what is left out: left-out-LANGUAGE.txt says why --- */

%ignore acemq_free;
%rename("$ignore", regextarget=1, %$isfunction) "^acemq_error_";
%rename("$ignore", regextarget=1, %$isfunction) "^acemq_.*_options_init$";
%ignore acemq_partitioning_init;
%rename("$ignore", regextarget=1, %$isfunction) "^acemq_(consume|group_consume|ordered_consume|codec_new|publisher_send_async|connection_on_settled)$";
%rename("$ignore", regextarget=1, %$isfunction) "^acemq_(interception|intercept|interceptor|publish_interceptor|consume_interceptor|delivery_change)_";
%rename("$ignore", regextarget=1, %$isfunction) "^acemq_(outbox_open_lmdb|outbox_enqueue_lmdb|outbox_enqueue_postgres|claim_store_new|claim_object_append|delivery_set_reason)$";
%ignore acemq_publish_interceptor;
%ignore acemq_consume_interceptor;
%ignore acemq_claim_callbacks;
%ignore acemq_bytes;

%ignore acemq_connect_options::credentials_callback;
%ignore acemq_connect_options::credentials_user;
%ignore acemq_connect_options::log_callback;
%ignore acemq_connect_options::log_user;
%ignore acemq_consumer_options::claim_key;
%ignore acemq_consumer_options::claim_key_user;
%ignore acemq_metrics_options::observer;
%ignore acemq_metrics_options::user;
%ignore acemq_metrics_options::destructor;
%ignore acemq_partitioning::key;
%ignore acemq_partitioning::user;
%ignore acemq_replay_options::filter_user;
%ignore acemq_replay_options::progress;
%ignore acemq_replay_options::progress_user;
%ignore size;
%ignore reserved;
%ignore reserved_claims;

/* --- handles --- */

%define %free_function(NAME)
%insert("header") {
static void free_##NAME(void *handle)
{
    acemq_##NAME##_free((acemq_##NAME *)handle);
}
}
%enddef

/* An object of the class frees its handle, or gives back what was lent; NAME_free() does so at once, and the object is
 * none any more. ATTACH says what a new one keeps. */
%define %handle_class(NAME, ATTACH...)
%nodefaultctor acemq_##NAME;
struct acemq_##NAME {};
%extend acemq_##NAME {
    ~acemq_##NAME() { lending_free($self, free_##NAME); }
}
%ignore acemq_##NAME##_free;
%output_handle(acemq_##NAME, ATTACH)
%freeing(NAME)
%rename(NAME##_free) release_##NAME;
%inline %{
static void release_##NAME(acemq_##NAME *released)
{
    lending_free(released, free_##NAME);
}
%}
%enddef

%define %handle(NAME, ATTACH...)
%free_function(NAME)
%handle_class(NAME, ATTACH)
%enddef

/* Freeing one may wait for its broker. */
%define %slow_handle(NAME, ATTACH...)
%slow_free_function(NAME)
%ending(acemq_##NAME)
%handle_class(NAME, ATTACH)
%enddef

/* What lies in another object: no handle of its own. */
%define %part(NAME)
%nodefaultctor acemq_##NAME;
struct acemq_##NAME {};
%extend acemq_##NAME {
    ~acemq_##NAME() { lending_free($self, NULL); }
}
%enddef

%handle(array)
%slow_handle(broker)
%slow_handle(browser, lending_attach(*$1, arg1);)
%handle(cancel)
%handle(claim_store)
%handle(claims)
%handle(codec)
%slow_handle(connection)
%handle(consumer, lending_attach(*$1, arg1);)
%handle(delivery)
%handle(envelope)
%handle(event)
%handle(gaps)
%handle(group, lending_attach(*$1, arg1);)
%handle(idempotency)
%handle(keyring)
%handle(message)
%handle(metrics)
%handle(ordered, lending_attach(*$1, arg1);)
%handle(outbox)
%handle(outbox_list)
%handle(outbox_statement)
%handle(plan)
%handle(policy)
%handle(publisher, lending_attach(*$1, arg1);)
%handle(receipt)
%slow_handle(relay, lending_attach(*$1, arg1);)
%handle(table)
%handle(topology)
%handle(work)
%part(value)
%part(settlement)
%part(observation)

/* --- options: made with their defaults; what a member points to is held --- */

%member_handle(const acemq_policy *)
%member_handle(const acemq_codec *)
%member_handle(const acemq_table *)
%member_handle(const acemq_consumer_options *)
%member_handle(acemq_cancel *)
%member_handle(acemq_idempotency *)
%typemap(memberin) const char * "$1 = lending_replace_text($1, $input);"
%typemap(memberin) const acemq_policy * "$1 = (const acemq_policy *)lending_replace($1, $input);"
%typemap(memberin) const acemq_codec * "$1 = (const acemq_codec *)lending_replace($1, $input);"
%typemap(memberin) const acemq_table * "$1 = (const acemq_table *)lending_replace($1, $input);"
%typemap(memberin) const acemq_consumer_options * "$1 = (const acemq_consumer_options *)lending_replace($1, $input);"
%typemap(memberin) acemq_cancel * "$1 = (acemq_cancel *)lending_replace($1, $input);"
%typemap(memberin) acemq_idempotency * "$1 = (acemq_idempotency *)lending_replace($1, $input);"

%define %options(NAME, FORGET...)
%nodefaultctor acemq_##NAME;
%option_class(NAME)
%insert("header") {
static acemq_##NAME *new_##NAME(void)
{
    acemq_##NAME *options = (acemq_##NAME *)calloc(1, sizeof *options);
    if (options != NULL) {
        acemq_##NAME##_init(options, sizeof *options);
    }
    return options;
}

static void end_##NAME(void *ended)
{
    acemq_##NAME *options = (acemq_##NAME *)ended;
    FORGET
    free(options);
}
}
%extend acemq_##NAME {
    acemq_##NAME() { return new_##NAME(); }
    ~acemq_##NAME() { lending_free($self, end_##NAME); }
}
%enddef

%define %copied_text(MEMBER) free((void *)options->MEMBER); %enddef
%define %held(MEMBER) lending_release(options->MEMBER); %enddef

%options(connect_options,
    %copied_text(name) %copied_text(credentials_file) %copied_text(user_variable) %copied_text(password_variable) %copied_text(ca_file) %copied_text(ca_folder)
    %copied_text(certificate_file) %copied_text(key_file) %copied_text(key_password) %copied_text(server_name) %held(cancel))
%options(consumer_options, %copied_text(tag) %held(retry) %held(codec) %held(arguments) %held(cancel) %held(idempotency))
%options(group_options, %held(consumer))
%options(ordered_options, %held(consumer))
%options(partitioning, %copied_text(header))
%options(publisher_options, %copied_text(exchange) %copied_text(routing_key) %held(cancel))
%options(browser_options, %held(cancel))
%options(replay_options, %copied_text(id) %held(cancel) %forget_filter)
%options(idempotency_options, %copied_text(name))
%options(outbox_options, %copied_text(name))
%options(relay_options)
%options(metrics_options)
%options(claim_directory_options)

/* --- structs that a call fills in: objects to read --- */

/* SIZE is sizeof the struct, or 0 for one that does not begin with its size. */
%define %filled(NAME, PARAMETER, SIZE, FORGET...)
%nodefaultctor acemq_##NAME;
%insert("header") {
static void end_##NAME(acemq_##NAME *options)
{
    FORGET
    free(options);
}
}
%extend acemq_##NAME {
    ~acemq_##NAME() { end_##NAME($self); }
}
%output_struct(acemq_##NAME, PARAMETER, SIZE)
%enddef

%define %blob(MEMBER) free((void *)options->MEMBER.data); %enddef

%immutable acemq_outbox_row::body;
%immutable acemq_encrypted_frame::key_id;
%immutable acemq_encrypted_frame::authenticated;
%immutable acemq_encrypted_frame::nonce;
%immutable acemq_encrypted_frame::ciphertext;
%immutable acemq_encrypted_frame::tag;
%filled(consumer_counters, counters, sizeof(acemq_consumer_counters))
%filled(relay_counters, counters, sizeof(acemq_relay_counters))
%filled(outbox_counts, counts, sizeof(acemq_outbox_counts))
%filled(replay_result, result, sizeof(acemq_replay_result))
%filled(outbox_row, row, sizeof(acemq_outbox_row),
    %copied_text(id) %copied_text(exchange) %copied_text(routing_key) %copied_text(content_type) %copied_text(headers) %copied_text(last_error) %blob(body))
%filled(claim_view, entry, 0, %copied_text(key) %copied_text(token))
%filled(encrypted_frame, frame, 0,
    %blob(key_id) %blob(authenticated) %blob(nonce) %blob(ciphertext) %blob(tag))

%exception acemq_outbox_list_row {
    $action
    if (result == ACEMQ_OK) {
        lending_own_row(arg3);
    }
}
%exception acemq_claims_get {
    $action
    if (result == ACEMQ_OK) {
        lending_own_view(arg3);
    }
}
%exception acemq_encrypted_frame_read {
    $action
    if (result == ACEMQ_OK) {
        lending_own_frame(arg2);
    }
}

/* --- what a function returns, and whose it is --- */

%define %owned(FUNCTION)
%newobject FUNCTION;
%enddef

%define %lent(FUNCTION, TYPE)
%newobject FUNCTION;
%exception FUNCTION {
    $action
    result = (TYPE)lending_lend(result, arg1);
}
%enddef

%define %copied_table(FUNCTION)
%newobject FUNCTION;
%exception FUNCTION {
    $action
    result = (acemq_table *)lending_table_copy(result);
}
%enddef

%define %copied_value(FUNCTION)
%newobject FUNCTION;
%exception FUNCTION {
    $action
    result = (acemq_value *)lending_value(arg1, result);
}
%enddef

%owned(acemq_array_new)
%owned(acemq_codec_builtin)
%owned(acemq_message_new)
%owned(acemq_message_json)
%owned(acemq_message_text)
%owned(acemq_message_msgpack)
%owned(acemq_message_encoded)
%owned(acemq_message_verbatim)
%owned(acemq_policy_none)
%owned(acemq_policy_fixed)
%owned(acemq_policy_exponential)
%owned(acemq_table_new)
%owned(acemq_topology_new)
%newobject acemq_delivery_envelope;
%exception acemq_delivery_envelope {
    $action
    result = (acemq_envelope *)lending_envelope(arg1, result);
}
%lent(acemq_event_settlement, acemq_settlement *)
%lent(acemq_event_observation, acemq_observation *)
%copied_table(acemq_delivery_headers)
%copied_table(acemq_delivery_all_headers)
%copied_table(acemq_message_headers)
%copied_table(acemq_plan_arguments)
%copied_value(acemq_table_at)
%copied_value(acemq_table_get)
%lent(acemq_value_at, acemq_value *)

/* --- what may wait: other threads of the language run meanwhile --- */

%blocking(acemq_broker_start)
%blocking(acemq_broker_listen)
%blocking(acemq_browser_next)
%blocking(acemq_browser_open)
%blocking(acemq_browser_remove)
%blocking(acemq_claim_store_remove)
%blocking(acemq_codec_decode)
%blocking(acemq_codec_encode)
%connecting(acemq_connect)
%blocking(acemq_connection_close)
%blocking(acemq_connection_close_naming)
%blocking(acemq_consumer_close)
%blocking(acemq_consumer_open)
%blocking(acemq_consumer_pause)
%blocking(acemq_consumer_resume)
%blocking(acemq_consumer_set_prefetch)
%blocking(acemq_group_close)
%blocking(acemq_group_open)
%blocking(acemq_group_pause)
%blocking(acemq_group_resume)
%blocking(acemq_group_scale)
%blocking(acemq_group_set_prefetch)
%blocking(acemq_idempotency_claim)
%blocking(acemq_idempotency_confirm)
%blocking(acemq_idempotency_list)
%blocking(acemq_idempotency_open)
%blocking(acemq_idempotency_purge_expired)
%blocking(acemq_idempotency_release)
%blocking(acemq_idempotency_renew)
%blocking(acemq_idempotency_size)
%blocking(acemq_message_encoded)
%blocking(acemq_ordered_close)
%blocking(acemq_ordered_open)
%blocking(acemq_ordered_pause)
%blocking(acemq_ordered_publish)
%blocking(acemq_ordered_resume)
%blocking(acemq_outbox_count)
%blocking(acemq_outbox_enqueue)
%blocking(acemq_outbox_open)
%blocking(acemq_outbox_pending)
%blocking(acemq_outbox_purge_published)
%blocking(acemq_outbox_release)
%blocking(acemq_outbox_retired)
%blocking(acemq_publish)
%blocking(acemq_publish_to)
%blocking(acemq_publisher_begin)
%blocking(acemq_publisher_new)
%blocking(acemq_publisher_send)
%blocking(acemq_publisher_send_batch)
%blocking(acemq_publisher_submit)
%blocking(acemq_queue_count)
%blocking(acemq_queue_delete)
%blocking(acemq_queue_purge)
%blocking(acemq_relay_start)
%blocking(acemq_relay_stop)
%replaying(acemq_replay)
%blocking(acemq_replay_pending)
%blocking(acemq_topology_apply)
%blocking(acemq_topology_dry_run)

/* What can be repeated is waited for in slices, and an interrupt ends it between two of them. */
%waiting(acemq_connection_next_event, arg4)
%waiting(acemq_consumer_next, arg4)
%waiting(acemq_consumer_drain, arg4)
%waiting(acemq_group_next, arg4)
%waiting(acemq_ordered_next, arg4)
%waiting(acemq_receipt_wait, arg3)
%waiting(acemq_relay_drain, arg3)
%waiting_for_work(acemq_group_drain, arg4, arg5)
%waiting_for_work(acemq_ordered_drain, arg4, arg5)

%long_constant(FOREVER, 9223372036854775807)
%long_constant(MILLISECOND, 1)
%long_constant(SECOND, 1000)
%long_constant(MINUTE, 60000)
%long_constant(HOUR, 3600000)
%long_constant(DAY, 86400000)
%long_constant(CLAIM_THRESHOLD, 65536)

size_t lending_count(void);

%include <acemq/common.h>
%include <acemq/error.h>
%include <acemq/table.h>
%output_text(char name[256])
%include <acemq/metrics.h>
%include <acemq/settlement.h>
%include <acemq/event.h>
%include <acemq/work.h>
%include <acemq/cancel.h>
%include <acemq/connection.h>
%include <acemq/broker.h>
%include <acemq/codec.h>
%include <acemq/claim_check.h>
%include <acemq/encryption.h>
%include <acemq/envelope.h>
%include <acemq/delivery.h>
%include <acemq/message.h>
%include <acemq/names.h>
%include <acemq/policy.h>
%include <acemq/publisher.h>
%include <acemq/idempotency.h>
%include <acemq/consumer.h>
%include <acemq/group.h>
%include <acemq/ordered.h>
%include <acemq/queue.h>
%include <acemq/replay.h>
%include <acemq/topology.h>
%include <acemq/outbox.h>
%include <acemq/health.h>
%include <acemq/time.h>
%include <acemq/version.h>
%finishing
