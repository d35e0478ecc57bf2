/* What Lua 5.4 makes of the ABI: strings, integers, nil; several values where a call answers several; an error that is a
 * table with the error's members. */

%{
#include "waiting.h"
%}

/* --- errors --- */

%{
/* Pushes the error as a table of the class acemq.Error, and takes it; nil for none. */
static void push_error(lua_State *L, acemq_error *error)
{
    if (error == NULL) {
        lua_pushnil(L);
        return;
    }
    lua_createtable(L, 0, 9);
    lua_pushinteger(L, acemq_error_code(error));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, acemq_error_name(error));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, acemq_error_message(error));
    lua_setfield(L, -2, "message");
    lua_pushstring(L, acemq_error_field(error));
    lua_setfield(L, -2, "field");
    lua_pushinteger(L, (lua_Integer)acemq_error_limit(error));
    lua_setfield(L, -2, "limit");
    lua_pushinteger(L, acemq_error_reply_code(error));
    lua_setfield(L, -2, "reply_code");
    lua_pushboolean(L, acemq_error_is_retriable(error));
    lua_setfield(L, -2, "retriable");
    lua_pushboolean(L, acemq_error_is_fatal(error));
    lua_setfield(L, -2, "fatal");
    acemq_error_free(error);
    luaL_setmetatable(L, "acemq.Error");
}

static int error_text(lua_State *L)
{
    lua_getfield(L, 1, "name");
    lua_pushstring(L, ": ");
    lua_getfield(L, 1, "message");
    lua_concat(L, 3);
    return 1;
}

static int push_failure(lua_State *L, acemq_error *error, int answered)
{
    push_error(L, error);
    if (answered > 0) {
        lua_pushvalue(L, -1 - answered);
        lua_setfield(L, -2, "result");
    }
    return 1;
}
%}

%init %{
    luaL_newmetatable(L, "acemq.Error");
    lua_pushcfunction(L, error_text);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
%}

%typemap(out) acemq_status ""
%typemap(in, numinputs=0) acemq_error **error (acemq_error *failure = NULL) "$1 = &failure;"
%typemap(argout) acemq_error **error {
    if (result != ACEMQ_OK) {
        push_failure(L, *$1, SWIG_arg);
        SWIG_fail;
    }
}
%typemap(in, numinputs=0) acemq_error **reason (acemq_error *why = NULL), acemq_error **why (acemq_error *why = NULL) "$1 = &why;"
%typemap(argout) acemq_error **reason, acemq_error **why {
    push_error(L, *$1);
    SWIG_arg++;
}
%typemap(out) const acemq_error * {
    push_error(L, acemq_error_copy($1));
    SWIG_arg++;
}

/* --- text, bytes and numbers --- */

%{
/* The string at `index`, NULL for nil; 0 with a message pushed for anything else, and for a NUL where none may be. */
static int string_at(lua_State *L, int index, int may_hold_nul, const char **text, size_t *length)
{
    *text = NULL;
    *length = 0;
    if (lua_isnoneornil(L, index)) {
        return 1;
    }
    if (lua_type(L, index) != LUA_TSTRING) {
        lua_pushfstring(L, "argument %d has to be a string or nil, not %s", index, luaL_typename(L, index));
        return 0;
    }
    *text = lua_tolstring(L, index, length);
    if (!may_hold_nul && strlen(*text) != *length) {
        lua_pushfstring(L, "argument %d must not hold a NUL", index);
        return 0;
    }
    return 1;
}

/* The whole number at `index`, a boolean being 1 or 0; exact, or refused. */
static int integer_at(lua_State *L, int index, lua_Integer least, lua_Integer most, lua_Integer *number)
{
    int is_whole = 1;
    *number = lua_isboolean(L, index) ? lua_toboolean(L, index) : lua_tointegerx(L, index, &is_whole);
    if (!is_whole || *number < least || *number > most) {
        lua_pushfstring(L, "argument %d has to be a whole number from %I to %I", index, (LUAI_UACINT)least,
                        (LUAI_UACINT)most);
        return 0;
    }
    return 1;
}
%}

%typemap(in) const char * (size_t length = 0) {
    if (!string_at(L, $input, 0, (const char **)&$1, &length)) {
        SWIG_fail;
    }
}
%typemap(out) const char * {
    lua_pushstring(L, $1);
    SWIG_arg++;
}

%define %lua_integer(TYPES, LEAST, MOST)
%typemap(in) TYPES (lua_Integer number = 0) {
    if (!integer_at(L, $input, LEAST, MOST, &number)) {
        SWIG_fail;
    }
    $1 = ($1_ltype)number;
}
%typemap(out) TYPES {
    lua_pushinteger(L, (lua_Integer)$1);
    SWIG_arg++;
}
%enddef
%lua_integer(int, INT32_MIN, INT32_MAX)
%lua_integer(enum SWIGTYPE, INT32_MIN, INT32_MAX)
%lua_integer(unsigned char, 0, UINT8_MAX)
%lua_integer(unsigned int, 0, UINT32_MAX)
%lua_integer(unsigned long, 0, INT64_MAX)
%lua_integer(long long, INT64_MIN, INT64_MAX)
/* One of 2^63 and more has the same 64 bits as a negative integer: math.ult() and "%u" take it as it is. */
%lua_integer(unsigned long long, INT64_MIN, INT64_MAX)
%lua_integer(size_t, 0, INT64_MAX)

%typemap(in) acemq_bytes {
    if (!string_at(L, $input, 1, (const char **)&$1.data, &$1.length)) {
        SWIG_fail;
    }
}
%typemap(out) acemq_bytes {
    lua_pushlstring(L, $1.data == NULL ? "" : (const char *)$1.data, $1.length);
    SWIG_arg++;
}
%typemap(out) acemq_bytes * {
    lua_pushlstring(L, $1->data == NULL ? "" : (const char *)$1->data, $1->length);
    SWIG_arg++;
}

%define %input_bytes(SIGNATURE)
%typemap(in) SIGNATURE {
    if (!string_at(L, $input, 1, (const char **)&$1, &$2)) {
        SWIG_fail;
    }
}
%enddef
%input_bytes((const void *body, size_t length))
%input_bytes((const void *payload, size_t length))
%input_bytes((const char *json, size_t length))

/* --- what a call writes through a pointer --- */

%define %append_signed(NUMBER) lua_pushinteger(L, (lua_Integer)(NUMBER)); SWIG_arg++; %enddef
%define %append_unsigned(NUMBER) lua_pushinteger(L, (lua_Integer)(NUMBER)); SWIG_arg++; %enddef
%define %append_double(NUMBER) lua_pushnumber(L, (lua_Number)(NUMBER)); SWIG_arg++; %enddef
%define %append_text(TEXT) lua_pushstring(L, TEXT); SWIG_arg++; %enddef
%define %append_bytes(DATA, LENGTH) lua_pushlstring(L, (const char *)(DATA), LENGTH); SWIG_arg++; %enddef
%define %append_handle(POINTER, TYPE) SWIG_NewPointerObj(L, (void *)(POINTER), $descriptor(TYPE *), 1); SWIG_arg++; %enddef
%define %no_memory lua_pushstring(L, "out of memory"); SWIG_fail; %enddef
%include "outputs.i"

/* --- a batch: a list of messages; what became of each is a list of errors, false where there is none --- */

%typemap(in) (const acemq_message *const *messages, size_t count) (const acemq_message **array = NULL) {
    if (!lua_istable(L, $input)) {
        lua_pushstring(L, "messages have to be a table");
        SWIG_fail;
    }
    $2 = (size_t)lua_rawlen(L, $input);
    array = (const acemq_message **)lua_newuserdatauv(L, ($2 + 1) * sizeof *array, 0);
    for (size_t i = 0; i < $2; i++) {
        lua_rawgeti(L, $input, (lua_Integer)i + 1);
        if (!SWIG_IsOK(SWIG_ConvertPtr(L, -1, (void **)&array[i], $descriptor(acemq_message *), 0))) {
            lua_pushfstring(L, "messages[%d] is no Message", (int)i + 1);
            SWIG_fail;
        }
        lua_pop(L, 1);
    }
    $1 = (const acemq_message *const *)array;
}
%typemap(argout) (const acemq_message *const *messages, size_t count) ""
%typemap(in, numinputs=0) acemq_status *statuses "$1 = NULL;"
%typemap(in, numinputs=0) acemq_error **errors "$1 = NULL;"
%typemap(check) acemq_error **errors {
    $1 = (acemq_error **)calloc(arg4 + 1, sizeof *$1);
}
%typemap(argout) acemq_error **errors {
    lua_createtable(L, (int)arg4, 0);
    for (size_t i = 0; $1 != NULL && i < arg4; i++) {
        if ($1[i] == NULL) {
            lua_pushboolean(L, 0);
        } else {
            push_error(L, $1[i]);
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    SWIG_arg++;
}
%typemap(freearg) acemq_error **errors "free($1);"

/* --- objects that are freed at once --- */

%define %freeing(NAME)
%typemap(in) acemq_##NAME *released {
    int converted = SWIG_ConvertPtr(L, $input, (void **)&$1, $descriptor(acemq_##NAME *), SWIG_POINTER_RELEASE);
    if (converted == SWIG_ERROR_RELEASE_NOT_OWNED) {
        $1 = NULL; /* freed before */
    } else if (!SWIG_IsOK(converted)) {
        SWIG_fail_ptr("$symname", $argnum, $descriptor(acemq_##NAME *));
    }
}
%enddef

/* --- waiting: Lua has one thread; an interrupt of the interpreter's sets a hook, which runs once the wait is over --- */

%define %blocking(FUNCTION) %enddef
%define %connecting(FUNCTION) %enddef
%define %slow_free_function(NAME)
%free_function(NAME)
%enddef
%define %ending(TYPE) %enddef
%define %waiting_in_slices(FUNCTION, ERROR, CLEAN...)
%exception FUNCTION {
    waiting_slices slices = waiting_begin(arg2);
    lua_Hook hook = lua_gethook(L);
    do {
        arg2 = waiting_next(&slices);
        $action
        if (!waiting_goes_on(&slices, result) || lua_gethook(L) != hook) {
            break;
        }
        acemq_error_free(*ERROR);
        *ERROR = NULL;
        CLEAN
    } while (1);
}
%enddef
%define %waiting(FUNCTION, ERROR)
%waiting_in_slices(FUNCTION, ERROR)
%enddef
%define %waiting_for_work(FUNCTION, LEFT, ERROR)
%waiting_in_slices(FUNCTION, ERROR, acemq_work_free(*LEFT); *LEFT = NULL;)
%enddef

/* --- the filter of a replay, called on the thread that replays; an error in it ends the choosing --- */

%insert("header") {
typedef struct lua_filter {
    lua_State *main;
    lua_State *L;
    int function;
    int failed;
} lua_filter;

static int filter_in_lua(const acemq_delivery *delivery, void *user)
{
    lua_filter *filter = (lua_filter *)user;
    lua_State *L = filter->L;
    if (filter->failed) {
        return 0;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, filter->function);
    SWIG_NewPointerObj(L, (void *)delivery, SWIGTYPE_p_acemq_delivery, 0);
    lua_pushvalue(L, -1);
    lua_insert(L, -3);
    const acemq_delivery *before = lending_ask_about(delivery);
    filter->failed = lua_pcall(L, 1, 1, 0) != LUA_OK;
    lending_ask_about(before);
    ((swig_lua_userdata *)lua_touserdata(L, -2))->ptr = NULL; /* the delivery is the library's again */
    lua_remove(L, -2);
    if (filter->failed) {
        return 0; /* what it said stays on the stack */
    }
    int taken = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return taken;
}

static void forget_filter(acemq_replay_options *options)
{
    lua_filter *filter = (lua_filter *)options->filter_user;
    if (filter != NULL) {
        luaL_unref(filter->main, LUA_REGISTRYINDEX, filter->function);
        free(filter);
    }
    options->filter = NULL;
    options->filter_user = NULL;
}

static void set_filter(lua_State *L, acemq_replay_options *options, int index)
{
    forget_filter(options);
    lua_filter *filter = lua_isnil(L, index) ? NULL : (lua_filter *)calloc(1, sizeof *filter);
    if (filter == NULL) {
        return;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    filter->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    lua_pushvalue(L, index);
    filter->function = luaL_ref(L, LUA_REGISTRYINDEX);
    options->filter = filter_in_lua;
    options->filter_user = filter;
}

static lua_filter *begin_filter(lua_State *L, const acemq_replay_options *options)
{
    lua_filter *filter = options == NULL ? NULL : (lua_filter *)options->filter_user;
    if (filter != NULL) {
        filter->L = L;
        filter->failed = 0;
    }
    return filter;
}
}
%define %forget_filter forget_filter(options); %enddef

%typemap(in) acemq_replay_filter {
    if (!lua_isnil(L, $input) && !lua_isfunction(L, $input)) {
        lua_pushstring(L, "a filter has to be a function");
        SWIG_fail;
    }
    $1 = NULL;
}
%typemap(memberin) acemq_replay_filter "set_filter(L, arg1, 2);"
%typemap(out) acemq_replay_filter {
    lua_pushboolean(L, $1 != NULL);
    SWIG_arg++;
}

%define %replaying(FUNCTION)
%exception FUNCTION {
    lua_filter *filter = begin_filter(L, arg3);
    $action
    if (filter != NULL && filter->failed) {
        acemq_error_free(*arg5);
        free(arg4);
        SWIG_fail;
    }
}
%enddef

/* --- options --- */

/* SWIG would have the struct own what is put into it. */
%define %member_handle(TYPE)
%typemap(in) TYPE {
    if (!SWIG_IsOK(SWIG_ConvertPtr(L, $input, (void **)&$1, $descriptor, 0))) {
        SWIG_fail_ptr("$symname", $argnum, $descriptor);
    }
}
%enddef
%define %option_class(NAME) %enddef
%define %long_constant(NAME, VALUE)
%luacode {
acemq.NAME = VALUE
}
%enddef
%define %finishing
%luacode "lua/module.lua"
%enddef
