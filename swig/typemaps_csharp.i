/* What C# makes of the ABI: string, byte[], long, null; an object that is written through a pointer is what the method
 * returns, and a second one an out parameter; exceptions. Handles and options are IDisposable. */

%rename("%(camelcase)s", %$ismember, %$isvariable) "";
%pragma(csharp) moduleclassmodifiers="public partial class"
%apply unsigned long long { size_t };
%rename(LendingCount) lending_count;

/* --- errors --- */

%{
typedef void (SWIGSTDCALL *acemq_describe)(int code, const char *name, const char *message, const char *field,
                                           long long limit, int reply_code, int retriable, int fatal);
static acemq_describe pending_error;

static void describe_error(acemq_error *error, acemq_describe describe)
{
    if (error != NULL) {
        describe(acemq_error_code(error), acemq_error_name(error), acemq_error_message(error), acemq_error_field(error),
                 acemq_error_limit(error), acemq_error_reply_code(error), acemq_error_is_retriable(error),
                 acemq_error_is_fatal(error));
        acemq_error_free(error);
    }
}

SWIGEXPORT void SWIGSTDCALL acemq_csharp_on_error(acemq_describe describe)
{
    lending_start();
    pending_error = describe;
}

SWIGEXPORT void SWIGSTDCALL acemq_csharp_describe(void *error, acemq_describe describe)
{
    describe_error((acemq_error *)error, describe);
}

/* Bytes that C# copies and frees: their length, and then themselves. */
static void *bytes_for_csharp(const void *data, size_t length)
{
    size_t *copy = (size_t *)malloc(sizeof *copy + length);
    if (copy != NULL) {
        *copy = length;
        memcpy(copy + 1, length == 0 ? "" : data, length);
    }
    return copy;
}

SWIGEXPORT void SWIGSTDCALL acemq_csharp_free(void *memory)
{
    free(memory);
}
%}

%pragma(csharp) imclasscode=%{
  private static readonly ErrorCallback onError = AceMQException.Pend;

  [global::System.Runtime.InteropServices.DllImport("acemq_csharp")]
  private static extern void acemq_csharp_on_error(ErrorCallback callback);

  [global::System.Runtime.InteropServices.DllImport("acemq_csharp")]
  internal static extern void acemq_csharp_describe(global::System.IntPtr error, ErrorCallback callback);

  [global::System.Runtime.InteropServices.DllImport("acemq_csharp")]
  internal static extern void acemq_csharp_free(global::System.IntPtr memory);

  internal static readonly bool IsReady = Start();

  private static bool Start() {
    acemq_csharp_on_error(onError);
    return true;
  }

  internal static void Pend(global::System.Exception exception) {
    SWIGPendingException.Set(exception);
  }

  /* Throws what is pending; `answered` is what the call gave all the same. */
  internal static void Check(object answered) {
    if (SWIGPendingException.Pending) {
      var exception = SWIGPendingException.Retrieve();
      var known = exception as AceMQException;
      if (known != null) {
        known.Result = answered;
      }
      throw exception;
    }
  }
%}

%typemap(ctype) acemq_status "void"
%typemap(imtype) acemq_status "void"
%typemap(cstype) acemq_status "void"
%typemap(out) acemq_status ""
%typemap(csout, excode=SWIGEXCODE) acemq_status {
    $imcall;$excode
  }
%typemap(in, numinputs=0) acemq_error **error (acemq_error *failure = NULL) "$1 = &failure;"
%typemap(argout, canthrow=1) acemq_error **error {
    if (result != ACEMQ_OK) {
        describe_error(*$1, pending_error);
    }
}
%typemap(ctype) acemq_error **reason, acemq_error **why "void **"
%typemap(imtype) acemq_error **reason, acemq_error **why "out global::System.IntPtr"
%typemap(cstype) acemq_error **reason, acemq_error **why "out AceMQException"
%typemap(csin, pre="    global::System.IntPtr error_$csinput = global::System.IntPtr.Zero;",
         post="      $csinput = AceMQException.Take(error_$csinput);") acemq_error **reason, acemq_error **why "out error_$csinput"
%typemap(in) acemq_error **reason, acemq_error **why {
    *$input = NULL;
    $1 = ($1_ltype)$input;
}
%typemap(imtype, out="global::System.IntPtr") const acemq_error * "global::System.IntPtr"
%typemap(cstype) const acemq_error * "AceMQException"
%typemap(out) const acemq_error * "$result = acemq_error_copy($1);"
%typemap(csout) const acemq_error * {
    return AceMQException.Take($imcall);
  }

/* An acemq_status that is asked about, and not one that is answered. */
%typemap(ctype) acemq_status status "int"
%typemap(imtype) acemq_status status "int"
%typemap(cstype) acemq_status status "int"

/* --- text and bytes --- */

%typemap(csin) const char * "Bytes.Text($csinput)"

%define %pinned(SIGNATURE, CSTYPE)
%typemap(ctype) SIGNATURE "acemq_bytes *"
%typemap(imtype) SIGNATURE "ref Bytes.View"
%typemap(cstype) SIGNATURE "CSTYPE"
%typemap(csin, pre="    var pinned_$csinput = new Bytes.Pinned($csinput);",
         post="      pinned_$csinput.Dispose();") SIGNATURE "ref pinned_$csinput.View"
%enddef
%define %input_bytes(SIGNATURE, CSTYPE)
%pinned(SIGNATURE, CSTYPE)
%typemap(in) SIGNATURE {
    $1 = ($1_ltype)$input->data;
    $2 = $input->length;
}
%enddef
%pinned(acemq_bytes, byte[])
%typemap(in) acemq_bytes "$1 = *$input;"
%input_bytes((const void *body, size_t length), byte[])
%input_bytes((const void *payload, size_t length), byte[])
%input_bytes((const char *json, size_t length), string)

%typemap(ctype, out="void *") acemq_bytes "acemq_bytes *"
%typemap(imtype, out="global::System.IntPtr") acemq_bytes "ref Bytes.View"
%typemap(out) acemq_bytes "$result = bytes_for_csharp($1.data, $1.length);"
%typemap(csout, excode=SWIGEXCODE) acemq_bytes {
    return Bytes.Take($imcall);
  }
%typemap(ctype) acemq_bytes * "void *"
%typemap(imtype, out="global::System.IntPtr") acemq_bytes * "global::System.IntPtr"
%typemap(cstype) acemq_bytes * "byte[]"
%typemap(out) acemq_bytes * "$result = bytes_for_csharp($1->data, $1->length);"
%typemap(csvarout) acemq_bytes * %{
    get {
      return Bytes.Take($imcall);
    } %}

/* --- what a call writes through a pointer: the method returns it --- */

/* FUNCTION answers TYPE instead of a status. */
%define %returns(TYPE, FUNCTION, CTYPE, IMTYPE, CSTYPE, CONVERSION)
%typemap(ctype) TYPE FUNCTION "CTYPE"
%typemap(imtype) TYPE FUNCTION "IMTYPE"
%typemap(cstype) TYPE FUNCTION "CSTYPE"
%typemap(out) TYPE FUNCTION "$result = 0;"
%typemap(csout, excode="\n    $imclassname.Check(ret);") TYPE FUNCTION {
    var given = $imcall;
    var ret = CONVERSION;$excode
    return ret;
  }
%enddef
%define %returns_object(FUNCTION, CLASS)
%returns(acemq_status, FUNCTION, void *, global::System.IntPtr, CLASS, given == global::System.IntPtr.Zero ? null : new CLASS(given, true))
%enddef
%define %returns_text(FUNCTION)
%returns(acemq_status, FUNCTION, char *, string, string, given)
%enddef
%define %returns_count(FUNCTION)
%returns(acemq_status, FUNCTION, unsigned long long, ulong, ulong, given)
%enddef
%define %returns_bytes(FUNCTION)
%returns(acemq_status, FUNCTION, void *, global::System.IntPtr, byte[], Bytes.Take(given))
%enddef

%define %output_handle(TYPE, ATTACH...)
%typemap(in, numinputs=0) TYPE ** (TYPE *handle = NULL) "$1 = &handle;"
%typemap(argout) TYPE ** {
    ATTACH
    $result = (void *)*$1;
}
%enddef
%typemap(in, numinputs=0) const acemq_delivery ** (const acemq_delivery *handle = NULL) "$1 = ($1_ltype)&handle;"
%typemap(argout) const acemq_delivery ** "$result = (void *)lending_lend(*$1, arg1);"

%define %output_struct(TYPE, PARAMETER, SIZE)
%typemap(in, numinputs=0) TYPE *PARAMETER {
    $1 = (TYPE *)calloc(1, sizeof *$1);
    lending_size($1, SIZE);
}
%typemap(argout) TYPE *PARAMETER "$result = $1;"
%enddef

%define %returned_number(TYPE, PARAMETER)
%typemap(in, numinputs=0) TYPE *PARAMETER (TYPE number = 0) "$1 = &number;"
%typemap(argout) TYPE *PARAMETER "$result = *$1;"
%enddef
%returned_number(int64_t, milliseconds)
%returned_number(uint64_t, messages)
%returned_number(uint64_t, pending)
%returned_number(uint64_t, released)
%returned_number(uint64_t, purged)
%returned_number(uint64_t, size)
%returned_number(int, bound)
%typemap(in, numinputs=0) int *finished "$1 = NULL;"

%define %returned_text(SIGNATURE)
%typemap(in, numinputs=0) SIGNATURE (char text[$1_dim0]) {
    text[0] = '\0';
    $1 = text;
}
%typemap(argout) SIGNATURE "$result = SWIG_csharp_string_callback($1);"
%enddef
%returned_text(char id[ANY])
%returned_text(char name[ANY])
%returned_text(char text[ANY])
%returned_text(char token[ANY])
%returned_text(char queue[ANY])
%returned_text(char out[ANY])
%typemap(in, numinputs=0) char ** (char *owned = NULL) "$1 = &owned;"
%typemap(argout) char ** {
    $result = *$1 == NULL ? NULL : SWIG_csharp_string_callback(*$1);
    acemq_free(*$1);
}

%define %returned_bytes(SIGNATURE)
%typemap(in, numinputs=0) SIGNATURE (void *owned = NULL, size_t length = 0) {
    $1 = &owned;
    $2 = &length;
}
%typemap(argout) SIGNATURE {
    $result = bytes_for_csharp(*$1, *$2);
    acemq_free(*$1);
}
%enddef
%returned_bytes((void **body, size_t *length))
%returned_bytes((void **payload, size_t *length))
%returned_bytes((void **framed, size_t *length))

%define %returned_view(PARAMETER, CONDITION)
%typemap(in, numinputs=0) acemq_bytes *PARAMETER (acemq_bytes view) {
    memset(&view, 0, sizeof view);
    $1 = &view;
}
%typemap(argout) acemq_bytes *PARAMETER {
    if (CONDITION) {
        $result = bytes_for_csharp($1->data, $1->length);
    }
}
%enddef
%returned_view(bytes, result)
%returned_view(map, result == ACEMQ_OK)
%returned_view(rest, result == ACEMQ_OK)

/* --- a second one is an out parameter --- */

%define %out_number(TYPE, PARAMETER, CTYPE, CSTYPE)
%typemap(ctype) TYPE *PARAMETER "CTYPE *"
%typemap(imtype) TYPE *PARAMETER "out CSTYPE"
%typemap(cstype) TYPE *PARAMETER "out CSTYPE"
%typemap(csin) TYPE *PARAMETER "out $csinput"
%typemap(in) TYPE *PARAMETER {
    *$input = 0;
    $1 = (TYPE *)$input;
}
%enddef
%define %out_enum(TYPE, PARAMETER, CLASS)
%typemap(ctype) TYPE *PARAMETER "int *"
%typemap(imtype) TYPE *PARAMETER "out int"
%typemap(cstype) TYPE *PARAMETER "out CLASS"
%typemap(csin, pre="    int number_$csinput = 0;", post="      $csinput = (CLASS)number_$csinput;") TYPE *PARAMETER "out number_$csinput"
%typemap(in) TYPE *PARAMETER {
    *$input = 0;
    $1 = (TYPE *)$input;
}
%enddef
%out_number(int64_t, seconds, long long, long)
%out_number(int32_t, nanoseconds, int, int)
%out_number(uint64_t, ready, unsigned long long, ulong)
%out_number(uint64_t, consumers, unsigned long long, ulong)
%out_number(int64_t, number, long long, long)
%out_number(uint64_t, number, unsigned long long, ulong)
%out_number(double, number, double, double)
%out_number(int64_t, epoch_milliseconds, long long, long)
%out_number(uint8_t, decimals, unsigned char, byte)
%out_number(uint32_t, unscaled, unsigned int, uint)
%out_enum(acemq_claim_answer, answer, ClaimAnswer)
%out_enum(acemq_health, health, Health)
%out_enum(acemq_claim_frame, frame, ClaimFrame)

/* The name of a member: until table.h was read. */
%typemap(ctype) char name[256] "char **"
%typemap(imtype) char name[256] "out string"
%typemap(cstype) char name[256] "out string"
%typemap(csin) char name[256] "out $csinput"
%typemap(in) char name[256] (char text[256]) {
    text[0] = '\0';
    $1 = text;
}
%typemap(argout) char name[256] "*$input = SWIG_csharp_string_callback($1);"
%define %output_text(SIGNATURE)
%typemap(ctype) SIGNATURE "char *"
%typemap(imtype) SIGNATURE "string"
%typemap(cstype) SIGNATURE "string"
%returned_text(SIGNATURE)
%enddef

/* --- a batch: what became of each message is an array of exceptions, null where there is none --- */

%typemap(ctype) (const acemq_message *const *messages, size_t count) "void **"
%typemap(imtype) (const acemq_message *const *messages, size_t count) "global::System.IntPtr[]"
%typemap(cstype) (const acemq_message *const *messages, size_t count) "Message[]"
%typemap(csin, post="      global::System.GC.KeepAlive($csinput);") (const acemq_message *const *messages, size_t count) "Batch.Pointers($csinput)"
%typemap(in) (const acemq_message *const *messages, size_t count) {
    $2 = (size_t)$input[0]; /* the messages come behind their number */
    $1 = ($1_ltype)($input + 1);
}
%typemap(argout) (const acemq_message *const *messages, size_t count) ""
%typemap(in, numinputs=0) acemq_status *statuses "$1 = NULL;"
%typemap(in, numinputs=0) acemq_error **errors "$1 = NULL;"
%typemap(check) acemq_error **errors "$1 = (acemq_error **)calloc(arg4 + 1, sizeof *$1);"
%typemap(argout) acemq_error **errors "$result = $1;"
%returns(acemq_status, acemq_publisher_send_batch, void *, global::System.IntPtr, AceMQException[], Batch.Take(given, messages.Length))

/* --- waiting: .NET's threads run meanwhile in any case --- */

%define %freeing(NAME) %ignore release_##NAME; %enddef
%define %slow_free_function(NAME)
%free_function(NAME)
%enddef
%define %ending(TYPE) %enddef
%define %blocking(FUNCTION) %enddef
%define %connecting(FUNCTION) %enddef
%define %waiting(FUNCTION, ERROR) %enddef
%define %waiting_for_work(FUNCTION, LEFT, ERROR) %enddef

/* --- the filter of a replay, called on the thread that replays; an exception in it ends the choosing --- */

%define %forget_filter %enddef
%insert("header") {
static int filter_in_csharp(const acemq_delivery *delivery, void *user)
{
    const acemq_delivery *before = lending_ask_about(delivery);
    int taken = ((acemq_replay_filter)user)(delivery, NULL);
    lending_ask_about(before);
    return taken;
}
}
%typemap(memberin) acemq_replay_filter {
    arg1->filter = $input == NULL ? NULL : filter_in_csharp;
    arg1->filter_user = (void *)$input;
}
%define %replaying(FUNCTION) %enddef
%typemap(ctype) acemq_replay_filter "acemq_replay_filter"
%typemap(imtype, out="global::System.IntPtr") acemq_replay_filter "Filter.Callback"
%typemap(cstype) acemq_replay_filter "Filter.Choice"
%typemap(in) acemq_replay_filter "$1 = $input;"
%typemap(out) acemq_replay_filter "$result = $1;"
%typemap(csin) acemq_replay_filter "filter.Native"
%typemap(csvarin) acemq_replay_filter %{
    set {
      filter = new Filter(value);
      $imcall;
    } %}
%typemap(csvarout) acemq_replay_filter %{
    get {
      return filter == null ? null : filter.Chosen;
    } %}
%typemap(cscode) acemq_replay_options, struct acemq_replay_options %{
  private Filter filter;

  internal static void Rethrow(ReplayOptions options) {
    if (options != null && options.filter != null) {
      options.filter.Rethrow();
    }
  }
%}

/* --- options --- */

%define %member_handle(TYPE) %enddef
%define %option_class(NAME) %enddef
%define %long_constant(NAME, VALUE) %enddef
%define %finishing %enddef

%include "returns_csharp.i"
