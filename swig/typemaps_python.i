/* What Python makes of the ABI: bytes, str, int, None; a tuple where a call answers several things; exceptions. */

%{
#include "connecting.h"
#include "waiting.h"
%}

/* The comments of the headers are the docstrings; the @ of an address in them is no command of Doxygen's. */
%feature("doxygen:alias:host") "@host";

/* --- errors --- */

%fragment("acemq_exception", "header") {
/* An exception object of the error's class; takes the error. NULL when Python could not make one. */
static PyObject *exception_of(acemq_error *error)
{
    PyObject *module = PyImport_ImportModule("acemq");
    PyObject *made = module == NULL ? NULL
        : PyObject_CallMethod(module, "_exception_of", "isssLiii", acemq_error_code(error), acemq_error_name(error),
                              acemq_error_message(error), acemq_error_field(error),
                              (long long)acemq_error_limit(error), acemq_error_reply_code(error),
                              acemq_error_is_retriable(error), acemq_error_is_fatal(error));
    Py_XDECREF(module);
    acemq_error_free(error);
    return made;
}

/* Raises it; `answered` is what the call gave besides, and is taken. */
static void raise_error(acemq_error *error, PyObject *answered)
{
    PyObject *exception = exception_of(error);
    if (exception != NULL) {
        PyObject_SetAttrString(exception, "result", answered == NULL ? Py_None : answered);
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    Py_XDECREF(answered);
}

static PyObject *exception_or_none(acemq_error *error)
{
    if (error == NULL) {
        Py_RETURN_NONE;
    }
    return exception_of(error);
}
}

%typemap(out) acemq_status "$result = SWIG_Py_Void();"
%typemap(in, numinputs=0) acemq_error **error (acemq_error *failure = NULL) "$1 = &failure;"
%typemap(argout, fragment="acemq_exception") acemq_error **error {
    if (result != ACEMQ_OK) {
        raise_error(*$1, $result);
        SWIG_fail;
    }
}
%typemap(in, numinputs=0) acemq_error **reason (acemq_error *why = NULL), acemq_error **why (acemq_error *why = NULL) "$1 = &why;"
%typemap(argout, fragment="acemq_exception") acemq_error **reason, acemq_error **why {
    $result = SWIG_Python_AppendOutput($result, exception_or_none(*$1));
}
%typemap(out, fragment="acemq_exception") const acemq_error * {
    $result = exception_or_none(acemq_error_copy($1));
}
%typemap(out) acemq_status acemq_status_code "$result = PyLong_FromLong($1);"

/* --- text and bytes --- */

%fragment("acemq_text", "header") {
/* The bytes of a str or bytes without a NUL, NULL for None; 0 with an exception when it is anything else. `kept` is to
 * be released. */
static int text_of(PyObject *object, const char **text, PyObject **kept)
{
    char *bytes = NULL;
    *text = NULL;
    *kept = NULL;
    if (object == Py_None) {
        return 1;
    }
    if (PyUnicode_Check(object)) {
        *kept = PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape");
    } else if (PyBytes_Check(object)) {
        Py_INCREF(object);
        *kept = object;
    } else {
        PyErr_Format(PyExc_TypeError, "text has to be str, bytes or None, not %s", Py_TYPE(object)->tp_name);
    }
    if (*kept == NULL || PyBytes_AsStringAndSize(*kept, &bytes, NULL) < 0) {
        return 0; /* ValueError where a NUL is in it */
    }
    *text = bytes;
    return 1;
}

static PyObject *text_or_none(const char *text)
{
    if (text == NULL) {
        Py_RETURN_NONE;
    }
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

/* A view of a str or of anything with a buffer; None is no bytes at all. */
static int view_of(PyObject *object, Py_buffer *view, acemq_bytes *bytes)
{
    memset(view, 0, sizeof *view);
    bytes->data = NULL;
    bytes->length = 0;
    if (object == Py_None) {
        return 1;
    }
    if (PyUnicode_Check(object)) {
        Py_ssize_t length = 0;
        bytes->data = PyUnicode_AsUTF8AndSize(object, &length);
        bytes->length = (size_t)length;
        return bytes->data != NULL;
    }
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0) {
        return 0;
    }
    bytes->data = view->buf == NULL ? "" : view->buf;
    bytes->length = (size_t)view->len;
    return 1;
}

static PyObject *bytes_object(acemq_bytes bytes)
{
    return PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.length);
}
}

%typemap(in, fragment="acemq_text") const char * (PyObject *kept = NULL) {
    if (!text_of($input, (const char **)&$1, &kept)) {
        Py_XDECREF(kept);
        kept = NULL;
        SWIG_fail;
    }
}
%typemap(freearg) const char * "Py_XDECREF(kept$argnum);"
%typemap(out, fragment="acemq_text") const char * "$result = text_or_none($1);"

%typemap(in, fragment="acemq_text") acemq_bytes (Py_buffer view) {
    if (!view_of($input, &view, &$1)) {
        SWIG_fail;
    }
}
%typemap(arginit) acemq_bytes "memset(&view$argnum, 0, sizeof view$argnum);"
%typemap(freearg) acemq_bytes "if (view$argnum.obj != NULL) { PyBuffer_Release(&view$argnum); }"
%typemap(out, fragment="acemq_text") acemq_bytes "$result = bytes_object($1);"
%typemap(out, fragment="acemq_text") acemq_bytes * "$result = bytes_object(*$1);"

%define %input_bytes(SIGNATURE)
%typemap(in, fragment="acemq_text") SIGNATURE (Py_buffer view, acemq_bytes bytes) {
    if (!view_of($input, &view, &bytes)) {
        SWIG_fail;
    }
    $1 = ($1_ltype)bytes.data;
    $2 = bytes.length;
}
%typemap(arginit) SIGNATURE "memset(&view$argnum, 0, sizeof view$argnum);"
%typemap(freearg) SIGNATURE "if (view$argnum.obj != NULL) { PyBuffer_Release(&view$argnum); }"
%enddef
%input_bytes((const void *body, size_t length))
%input_bytes((const void *payload, size_t length))
%input_bytes((const char *json, size_t length))

/* --- what a call writes through a pointer --- */

%define %append(OBJECT) $result = SWIG_Python_AppendOutput($result, OBJECT); %enddef
%define %append_signed(NUMBER) %append(PyLong_FromLongLong(NUMBER)) %enddef
%define %append_unsigned(NUMBER) %append(PyLong_FromUnsignedLongLong(NUMBER)) %enddef
%define %append_double(NUMBER) %append(PyFloat_FromDouble(NUMBER)) %enddef
%define %append_text(TEXT) %append(text_or_none(TEXT)) %enddef
%define %append_bytes(DATA, LENGTH) %append(PyBytes_FromStringAndSize((const char *)DATA, (Py_ssize_t)(LENGTH))) %enddef
%define %append_handle(POINTER, TYPE) %append(SWIG_NewPointerObj((void *)(POINTER), $descriptor(TYPE *), SWIG_POINTER_OWN)) %enddef
%define %no_memory PyErr_NoMemory(); SWIG_fail; %enddef
%include "outputs.i"

/* --- a batch: a list of messages; what became of each is a list of None and exceptions --- */

%typemap(in) (const acemq_message *const *messages, size_t count) (PyObject *list = NULL, const acemq_message **array = NULL) {
    list = PySequence_Fast($input, "messages have to be a sequence");
    if (list == NULL) {
        SWIG_fail;
    }
    $2 = (size_t)PySequence_Fast_GET_SIZE(list);
    array = (const acemq_message **)calloc($2 + 1, sizeof *array);
    for (size_t i = 0; array != NULL && i < $2; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, (Py_ssize_t)i);
        if (!SWIG_IsOK(SWIG_ConvertPtr(item, (void **)&array[i], $descriptor(acemq_message *), 0))) {
            PyErr_Format(PyExc_TypeError, "messages[%zu] is no Message", i);
            SWIG_fail;
        }
    }
    $1 = (const acemq_message *const *)array;
}
%typemap(freearg) (const acemq_message *const *messages, size_t count) {
    Py_XDECREF(list$argnum);
    free((void *)array$argnum);
}
%typemap(argout) (const acemq_message *const *messages, size_t count) ""
%typemap(in, numinputs=0) acemq_status *statuses "$1 = NULL;"
%typemap(in, numinputs=0) acemq_error **errors "$1 = NULL;"
%typemap(check) acemq_error **errors {
    $1 = (acemq_error **)calloc(arg4 + 1, sizeof *$1);
}
%typemap(argout, fragment="acemq_exception") acemq_error **errors {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && $1 != NULL && i < arg4; i++) {
        PyObject *one = exception_or_none($1[i]);
        if (one != NULL) {
            PyList_Append(list, one);
            Py_DECREF(one);
        }
    }
    %append(list)
}
%typemap(freearg) acemq_error **errors "free($1);"

/* --- objects that are freed at once --- */

%define %freeing(NAME)
%typemap(in) acemq_##NAME *released {
    int converted = SWIG_ConvertPtr($input, (void **)&$1, $descriptor(acemq_##NAME *), SWIG_POINTER_RELEASE);
    if (converted == SWIG_ERROR_RELEASE_NOT_OWNED) {
        $1 = NULL; /* freed before */
    } else if (!SWIG_IsOK(converted)) {
        SWIG_exception_fail(SWIG_ArgError(converted), "this is no acemq_" #NAME);
    }
}
%exception release_##NAME {
    Py_BEGIN_ALLOW_THREADS
    $action
    Py_END_ALLOW_THREADS
}
%enddef

/* --- waiting without the GIL --- */

%define %blocking(FUNCTION)
%exception FUNCTION {
    Py_BEGIN_ALLOW_THREADS
    $action
    Py_END_ALLOW_THREADS
}
%enddef

%define %connecting(FUNCTION)
%exception FUNCTION {
    connecting call;
    int is_done;
    connecting_begin(&call, FUNCTION, arg1, arg2, arg3, arg4);
    do {
        Py_BEGIN_ALLOW_THREADS
        is_done = connecting_wait(&call);
        Py_END_ALLOW_THREADS
        if (!is_done && PyErr_CheckSignals() < 0) {
            Py_BEGIN_ALLOW_THREADS
            connecting_abandon(&call);
            Py_END_ALLOW_THREADS
            SWIG_fail;
        }
    } while (!is_done);
    result = connecting_end(&call);
}
%enddef

%define %waiting_in_slices(FUNCTION, ERROR, CLEAN...)
%exception FUNCTION {
    waiting_slices slices = waiting_begin(arg2);
    do {
        arg2 = waiting_next(&slices);
        Py_BEGIN_ALLOW_THREADS
        $action
        Py_END_ALLOW_THREADS
        if (!waiting_goes_on(&slices, result)) {
            break;
        }
        acemq_error_free(*ERROR);
        *ERROR = NULL;
        CLEAN
        if (PyErr_CheckSignals() < 0) {
            SWIG_fail;
        }
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
static int filter_in_python(const acemq_delivery *delivery, void *user)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int taken = 0;
    if (!PyErr_Occurred()) {
        PyObject *proxy = SWIG_NewPointerObj((void *)delivery, SWIGTYPE_p_acemq_delivery, 0);
        const acemq_delivery *before = lending_ask_about(delivery);
        PyObject *answer = proxy == NULL ? NULL : PyObject_CallFunctionObjArgs((PyObject *)user, proxy, NULL);
        lending_ask_about(before);
        taken = answer == NULL ? 0 : PyObject_IsTrue(answer) == 1;
        Py_XDECREF(answer);
        if (proxy != NULL) {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            SWIG_Python_GetSwigThis(proxy)->ptr = NULL; /* the delivery is the library's again */
            Py_DECREF(proxy);
            PyErr_Restore(type, value, trace);
        }
    }
    PyGILState_Release(state);
    return taken;
}

static void set_filter(acemq_replay_options *options, acemq_replay_filter filter, PyObject *callable)
{
    PyObject *before = (PyObject *)options->filter_user;
    options->filter = filter;
    options->filter_user = filter == NULL ? NULL : callable;
    Py_XINCREF((PyObject *)options->filter_user);
    Py_XDECREF(before);
}
}
%define %forget_filter Py_XDECREF((PyObject *)options->filter_user); %enddef

%typemap(in) acemq_replay_filter {
    if ($input != Py_None && !PyCallable_Check($input)) {
        PyErr_SetString(PyExc_TypeError, "a filter has to be callable");
        SWIG_fail;
    }
    $1 = $input == Py_None ? NULL : filter_in_python;
}
%typemap(memberin) acemq_replay_filter "set_filter(arg1, $input, swig_obj[1]);"
%typemap(out) acemq_replay_filter {
    $result = arg1->filter_user == NULL ? Py_None : (PyObject *)arg1->filter_user;
    Py_INCREF($result);
}

%define %replaying(FUNCTION)
%exception FUNCTION {
    Py_BEGIN_ALLOW_THREADS
    $action
    Py_END_ALLOW_THREADS
    if (PyErr_Occurred()) {
        acemq_error_free(*arg5);
        free(arg4);
        SWIG_fail;
    }
}
%enddef

%define %slow_free_function(NAME)
%free_function(NAME)
%enddef
%define %ending(TYPE)
%exception TYPE::~TYPE {
    Py_BEGIN_ALLOW_THREADS
    $action
    Py_END_ALLOW_THREADS
}
%enddef

%define %long_constant(NAME, VALUE)
%pythoncode %{
NAME = VALUE
%}
%enddef

/* --- options --- */

/* SWIG would have the struct own what is put into it. */
%define %member_handle(TYPE)
%typemap(in) TYPE (void *pointer = NULL, int converted = 0) {
    converted = SWIG_ConvertPtr($input, &pointer, $descriptor, 0);
    if (!SWIG_IsOK(converted)) {
        SWIG_exception_fail(SWIG_ArgError(converted), "in $symname, argument $argnum of type $1_type");
    }
    $1 = ($1_ltype)pointer;
}
%enddef

%define %option_class(NAME)
%feature("shadow") acemq_##NAME::acemq_##NAME() %{
def __init__(self, **members):
    _acemq.ConnectOptions_swiginit(self, $action()) # the same for every class
    for member, value in members.items():
        if not isinstance(getattr(type(self), member, None), property):
            raise TypeError(f"{type(self).__name__} has no member {member}")
        setattr(self, member, value)
%}
%enddef

%pythoncode "python/errors.py"

%define %finishing
%pythoncode %{
_make_classes()
%}
%enddef
