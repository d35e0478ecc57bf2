/* What Ruby makes of the ABI: String, Integer, nil; an Array where a call answers several things; exceptions. The module
 * is C++ for the sake of its lambdas: a call without the GVL is a function of its own. */

%{
#include <ruby/encoding.h>
#include <ruby/thread.h>

#include "background.h"
#include "connecting.h"
#include "waiting.h"
%}
%init %{
    background_start();
    rb_set_end_proc(end_background, Qnil);
%}

%{
static void end_background(VALUE)
{
    background_end();
}
%}

/* --- errors --- */

%{
/* An exception of the error's class; takes the error. nil for none. */
static VALUE exception_of(acemq_error *error)
{
    if (error == NULL) {
        return Qnil;
    }
    VALUE members[] = {INT2NUM(acemq_error_code(error)),
                       rb_utf8_str_new_cstr(acemq_error_name(error)),
                       rb_utf8_str_new_cstr(acemq_error_message(error)),
                       rb_utf8_str_new_cstr(acemq_error_field(error)),
                       LL2NUM(acemq_error_limit(error)),
                       INT2NUM(acemq_error_reply_code(error)),
                       acemq_error_is_retriable(error) ? Qtrue : Qfalse,
                       acemq_error_is_fatal(error) ? Qtrue : Qfalse};
    acemq_error_free(error);
    return rb_funcallv(rb_path2class("Acemq::Error"), rb_intern("of"), 8, members);
}

/* Raises it; `answered` is what the call gave besides. */
static VALUE failure(acemq_error *error, VALUE answered)
{
    VALUE exception = exception_of(error);
    rb_ivar_set(exception, rb_intern("@result"), answered);
    return exception;
}
%}

%typemap(out) acemq_status "$result = Qnil;"
%typemap(in, numinputs=0) acemq_error **error (acemq_error *failure = NULL) "$1 = &failure;"
%typemap(argout) acemq_error **error {
    if (result != ACEMQ_OK) {
        failed = failure(*$1, $result);
        SWIG_fail;
    }
}
/* Raised where everything is released. */
%typemap(arginit) acemq_error **error "volatile VALUE failed = Qnil;"
%typemap(freearg) acemq_error **error {
    if (!NIL_P(failed)) {
        rb_exc_raise(failed);
    }
}
%typemap(in, numinputs=0) acemq_error **reason (acemq_error *why = NULL), acemq_error **why (acemq_error *why = NULL) "$1 = &why;"
%typemap(argout) acemq_error **reason, acemq_error **why {
    $result = SWIG_Ruby_AppendOutput($result, exception_of(*$1));
}
%typemap(out) const acemq_error * "$result = exception_of(acemq_error_copy($1));"

/* --- text, bytes and numbers --- */

%{
/* What a call without the GVL reads is a string of its own that nobody changes. */
static VALUE own_string(VALUE object)
{
    if (NIL_P(object)) {
        return object;
    }
    if (SYMBOL_P(object)) {
        object = rb_sym2str(object);
    }
    StringValue(object);
    rb_encoding *encoding = rb_enc_get(object);
    if (encoding != rb_ascii8bit_encoding() && encoding != rb_utf8_encoding() && encoding != rb_usascii_encoding()) {
        object = rb_str_export_to_enc(object, rb_utf8_encoding());
    }
    return rb_str_new_frozen(object);
}

static VALUE text_or_nil(const char *text)
{
    return text == NULL ? Qnil : rb_utf8_str_new_cstr(text);
}

static VALUE whole_number(VALUE object)
{
    if (object == Qtrue || object == Qfalse) {
        return INT2FIX(object == Qtrue);
    }
    if (!RB_INTEGER_TYPE_P(object)) {
        rb_raise(rb_eTypeError, "an Integer is wanted, not %s", rb_obj_classname(object));
    }
    return object;
}

static unsigned long long unsigned_number(VALUE object, unsigned long long most)
{
    object = whole_number(object);
    if (RTEST(rb_funcall(object, rb_intern("negative?"), 0))) {
        rb_raise(rb_eRangeError, "a number must not be negative");
    }
    unsigned long long number = NUM2ULL(object);
    if (number > most) {
        rb_raise(rb_eRangeError, "%llu is more than %llu", number, most);
    }
    return number;
}
%}

%typemap(in) const char * (volatile VALUE text = Qnil) {
    VALUE own = own_string($input);
    text = own;
    $1 = NIL_P(own) ? NULL : StringValueCStr(own);
}
%typemap(freearg) const char * ""
%typemap(out) const char * "$result = text_or_nil($1);"

%typemap(in) acemq_bytes (volatile VALUE text = Qnil) {
    text = own_string($input);
    $1.data = NIL_P(text) ? NULL : RSTRING_PTR(text);
    $1.length = NIL_P(text) ? 0 : (size_t)RSTRING_LEN(text);
}
%typemap(out) acemq_bytes "$result = rb_str_new((const char *)$1.data, (long)$1.length);"
%typemap(out) acemq_bytes * "$result = rb_str_new((const char *)$1->data, (long)$1->length);"

%define %input_bytes(SIGNATURE)
%typemap(in) SIGNATURE (volatile VALUE text = Qnil) {
    text = own_string($input);
    $1 = ($1_ltype)(NIL_P(text) ? NULL : RSTRING_PTR(text));
    $2 = NIL_P(text) ? 0 : (size_t)RSTRING_LEN(text);
}
%enddef
%input_bytes((const void *body, size_t length))
%input_bytes((const void *payload, size_t length))
%input_bytes((const char *json, size_t length))

%typemap(in) int "$1 = NUM2INT(whole_number($input));"
%typemap(in) enum SWIGTYPE "$1 = ($1_ltype)NUM2INT(whole_number($input));"
%typemap(in) unsigned char "$1 = (unsigned char)unsigned_number($input, UINT8_MAX);"
%typemap(in) unsigned int "$1 = (unsigned int)unsigned_number($input, UINT32_MAX);"
%typemap(in) size_t, unsigned long, unsigned long long "$1 = ($1_ltype)unsigned_number($input, UINT64_MAX);"
%typemap(in) long long "$1 = NUM2LL(whole_number($input));"
%typemap(out) long long "$result = LL2NUM($1);"
%typemap(out) size_t, unsigned long long "$result = ULL2NUM($1);"

/* --- what a call writes through a pointer --- */

%define %append(OBJECT) $result = SWIG_Ruby_AppendOutput($result, OBJECT); %enddef
%define %append_signed(NUMBER) %append(LL2NUM(NUMBER)) %enddef
%define %append_unsigned(NUMBER) %append(ULL2NUM(NUMBER)) %enddef
%define %append_double(NUMBER) %append(rb_float_new(NUMBER)) %enddef
%define %append_text(TEXT) %append(text_or_nil(TEXT)) %enddef
%define %append_bytes(DATA, LENGTH) %append(rb_str_new((const char *)(DATA), (long)(LENGTH))) %enddef
%define %append_handle(POINTER, TYPE) %append(SWIG_NewPointerObj((void *)(POINTER), $descriptor(TYPE *), SWIG_POINTER_OWN)) %enddef
%define %no_memory rb_memerror(); %enddef
%include "outputs.i"

/* --- a batch: a list of messages; what became of each is a list of exceptions, nil where there is none --- */

%typemap(in) (const acemq_message *const *messages, size_t count) (volatile VALUE list = Qnil, volatile VALUE room = Qnil, const acemq_message **array = NULL) {
    list = rb_ary_dup(rb_Array($input));
    $2 = (size_t)RARRAY_LEN(list);
    room = rb_str_new(NULL, (long)(($2 + 1) * sizeof *array));
    array = (const acemq_message **)RSTRING_PTR(room);
    for (size_t i = 0; i < $2; i++) {
        if (!SWIG_IsOK(SWIG_ConvertPtr(rb_ary_entry(list, (long)i), (void **)&array[i], $descriptor(acemq_message *), 0))) {
            rb_raise(rb_eTypeError, "messages[%zu] is no Message", i);
        }
    }
    $1 = ($1_ltype)array;
}
%typemap(argout) (const acemq_message *const *messages, size_t count) ""
%typemap(in, numinputs=0) acemq_status *statuses "$1 = NULL;"
%typemap(in, numinputs=0) acemq_error **errors "$1 = NULL;"
%typemap(check) acemq_error **errors {
    $1 = (acemq_error **)calloc(arg4 + 1, sizeof *$1);
}
%typemap(argout) acemq_error **errors {
    $result = rb_ary_new();
    for (size_t i = 0; $1 != NULL && i < arg4; i++) {
        rb_ary_push($result, exception_of($1[i]));
    }
}
%typemap(freearg) acemq_error **errors "free($1);"

/* --- objects that are freed at once --- */

%define %freeing(NAME)
%typemap(in) acemq_##NAME *released {
    int converted = SWIG_ConvertPtr($input, (void **)&$1, $descriptor(acemq_##NAME *), SWIG_POINTER_RELEASE);
    if (converted == SWIG_ERROR_RELEASE_NOT_OWNED || converted == SWIG_ObjectPreviouslyDeletedError) {
        $1 = NULL; /* freed before */
    } else if (!SWIG_IsOK(converted)) {
        rb_raise(rb_eTypeError, "this is no %s", #NAME);
    }
}
%enddef

/* The collector is not held up by what may wait for its broker. */
%define %ending(TYPE) %enddef
%define %slow_free_function(NAME)
%insert("header") {
static void free_now_##NAME(void *handle)
{
    acemq_##NAME##_free((acemq_##NAME *)handle);
}

static void free_##NAME(void *handle)
{
    background_run(free_now_##NAME, handle);
}
}
%enddef

/* --- waiting without the GVL --- */

%{
/* An interrupt that comes first is seen to before anything was done; one that comes later, once the call is over. */
template <typename Call> static void without_gvl(Call call)
{
    struct {
        Call *call;
        bool is_done;
    } state = {&call, false};
    auto run = [](void *data) -> void * {
        auto *now = static_cast<decltype(state) *>(data);
        (*now->call)();
        now->is_done = true;
        return NULL;
    };
    while (!state.is_done) {
        rb_thread_call_without_gvl2(run, &state, RUBY_UBF_IO, NULL);
        if (!state.is_done) {
            rb_thread_check_ints();
        }
    }
}

static VALUE check_interrupts(VALUE)
{
    rb_thread_check_ints();
    return Qnil;
}

/* An interrupt leaves nothing of the connection. */
static acemq_status connect_without_gvl(connecting *call)
{
    int is_done = 0, interrupted = 0;
    while (!is_done && !interrupted) {
        rb_thread_call_without_gvl2(
            [](void *data) -> void * { return (void *)(size_t)connecting_wait((connecting *)data); }, call,
            RUBY_UBF_IO, NULL);
        rb_protect(check_interrupts, Qnil, &interrupted);
        pthread_mutex_lock(&call->mutex);
        is_done = call->is_done;
        pthread_mutex_unlock(&call->mutex);
    }
    if (interrupted) {
        connecting_abandon(call);
        rb_jump_tag(interrupted);
    }
    return connecting_end(call);
}
%}

%define %connecting(FUNCTION)
%exception FUNCTION {
    connecting call;
    connecting_begin(&call, FUNCTION, arg1, arg2, arg3, arg4);
    result = connect_without_gvl(&call);
}
%enddef

%define %blocking(FUNCTION)
%exception FUNCTION {
    without_gvl([&]() { $action });
}
%enddef

%define %waiting_in_slices(FUNCTION, ERROR, CLEAN...)
%exception FUNCTION {
    waiting_slices slices = waiting_begin(arg2);
    do {
        arg2 = waiting_next(&slices);
        without_gvl([&]() { $action });
        if (!waiting_goes_on(&slices, result)) {
            break;
        }
        acemq_error_free(*ERROR);
        *ERROR = NULL;
        CLEAN
        rb_thread_check_ints();
    } while (1);
}
%enddef
%define %waiting(FUNCTION, ERROR)
%waiting_in_slices(FUNCTION, ERROR)
%enddef
%define %waiting_for_work(FUNCTION, LEFT, ERROR)
%waiting_in_slices(FUNCTION, ERROR, acemq_work_free(*LEFT); *LEFT = NULL;)
%enddef

/* --- the filter of a replay, called on the thread that replays; an exception in it ends the choosing --- */

%insert("header") {
typedef struct ruby_filter {
    VALUE callable;
    VALUE proxy;
    const acemq_delivery *delivery;
    int is_taken;
    int failed;
} ruby_filter;

static VALUE ask_filter(VALUE given)
{
    ruby_filter *filter = (ruby_filter *)given;
    filter->is_taken = RTEST(rb_funcall(filter->callable, rb_intern("call"), 1, filter->proxy));
    return Qnil;
}

static void *filter_with_gvl(void *given)
{
    ruby_filter *filter = (ruby_filter *)given;
    volatile VALUE proxy = SWIG_NewPointerObj((void *)filter->delivery, SWIGTYPE_p_acemq_delivery, 0);
    filter->proxy = proxy;
    const acemq_delivery *before = lending_ask_about(filter->delivery);
    rb_protect(ask_filter, (VALUE)filter, &filter->failed);
    lending_ask_about(before);
    DATA_PTR(proxy) = NULL; /* the delivery is the library's again */
    return NULL;
}

static int filter_in_ruby(const acemq_delivery *delivery, void *user)
{
    ruby_filter *filter = (ruby_filter *)user;
    filter->is_taken = 0;
    if (!filter->failed) {
        filter->delivery = delivery;
        rb_thread_call_with_gvl(filter_with_gvl, filter);
    }
    return filter->failed ? 0 : filter->is_taken;
}

static void set_filter(VALUE self, acemq_replay_options *options, VALUE callable)
{
    rb_ivar_set(self, rb_intern("@filter"), callable); /* which keeps it from the collector */
    free(options->filter_user);
    options->filter_user = NULL;
    options->filter = NULL;
    if (!NIL_P(callable)) {
        ruby_filter *filter = (ruby_filter *)calloc(1, sizeof *filter);
        filter->callable = callable;
        options->filter_user = filter;
        options->filter = filter_in_ruby;
    }
}
}
%define %forget_filter free(options->filter_user); %enddef

%typemap(in) acemq_replay_filter {
    if (!NIL_P($input) && !rb_respond_to($input, rb_intern("call"))) {
        rb_raise(rb_eTypeError, "a filter has to answer to call");
    }
    $1 = NULL;
}
%typemap(memberin) acemq_replay_filter "set_filter(self, arg1, argv[0]);"
%typemap(out) acemq_replay_filter "$result = rb_ivar_get(self, rb_intern(\"@filter\"));"

%define %replaying(FUNCTION)
%exception FUNCTION {
    ruby_filter *filter = arg3 == NULL ? NULL : (ruby_filter *)arg3->filter_user;
    if (filter != NULL) {
        filter->failed = 0;
    }
    without_gvl([&]() { $action });
    if (filter != NULL && filter->failed) {
        acemq_error_free(*arg5);
        free(arg4);
        rb_jump_tag(filter->failed);
    }
}
%enddef

/* --- options --- */

/* SWIG would have the struct own what is put into it. */
%define %member_handle(TYPE)
%typemap(in) TYPE {
    void *pointer = NULL;
    int converted = SWIG_ConvertPtr($input, &pointer, $descriptor, 0);
    if (!SWIG_IsOK(converted)) {
        SWIG_exception_fail(SWIG_ArgError(converted), "in $symname, argument $argnum of type $1_type");
    }
    $1 = ($1_ltype)pointer;
}
%enddef
%define %option_class(NAME) %enddef
%define %long_constant(NAME, VALUE) %enddef
%define %finishing %enddef
