/*
 * What calls write through a pointer, in languages that return it: the language's file says how a number, a text, bytes
 * and a handle are appended to what is returned.
 */

%define %output_handle(TYPE, ATTACH...)
%typemap(in, numinputs=0) TYPE ** (TYPE *handle = NULL) "$1 = &handle;"
%typemap(argout) TYPE ** {
    ATTACH
    %append_handle(*$1, TYPE)
}
%enddef
%typemap(in, numinputs=0) const acemq_delivery ** (const acemq_delivery *handle = NULL) "$1 = ($1_ltype)&handle;"
%typemap(argout) const acemq_delivery ** {
    %append_handle(lending_lend(*$1, arg1), acemq_delivery)
}

%define %output_struct(TYPE, PARAMETER, SIZE)
%typemap(in, numinputs=0) TYPE *PARAMETER {
    $1 = (TYPE *)calloc(1, sizeof *$1);
    if ($1 == NULL) {
        %no_memory
    }
    lending_size($1, SIZE);
}
%typemap(argout) TYPE *PARAMETER {
    %append_handle($1, TYPE)
}
%enddef

%define %output_number(TYPE, PARAMETER, APPEND)
%typemap(in, numinputs=0) TYPE *PARAMETER (TYPE number) {
    memset(&number, 0, sizeof number);
    $1 = &number;
}
%typemap(argout) TYPE *PARAMETER {
    APPEND(*$1)
}
%enddef

/* The function says by 1 that there is one: its answer is the number alone, or none. */
%define %optional_number(TYPE, PARAMETER, APPEND)
%output_number(TYPE, PARAMETER, APPEND)
%typemap(argout) TYPE *PARAMETER {
    if (result) {
        APPEND(*$1)
    }
}
%enddef

%output_number(int64_t, milliseconds, %append_signed)
%output_number(int64_t, seconds, %append_signed)
%output_number(int32_t, nanoseconds, %append_signed)
%output_number(uint64_t, ready, %append_unsigned)
%output_number(uint64_t, consumers, %append_unsigned)
%output_number(uint64_t, messages, %append_unsigned)
%output_number(uint64_t, pending, %append_unsigned)
%output_number(uint64_t, released, %append_unsigned)
%output_number(uint64_t, purged, %append_unsigned)
%output_number(uint64_t, size, %append_unsigned)
%output_number(int, finished, %append_signed)
%output_number(int, bound, %append_signed)
%output_number(acemq_claim_answer, answer, %append_signed)
%output_number(acemq_health, health, %append_signed)
%output_number(acemq_claim_frame, frame, %append_signed)
%optional_number(int64_t, number, %append_signed)
%optional_number(uint64_t, number, %append_unsigned)
%optional_number(double, number, %append_double)
%optional_number(int64_t, epoch_milliseconds, %append_signed)
%optional_number(uint8_t, decimals, %append_signed)
%optional_number(uint32_t, unscaled, %append_unsigned)

%define %answers_nothing(FUNCTION)
%typemap(out) int FUNCTION = void;
%enddef
%answers_nothing(acemq_value_integer)
%answers_nothing(acemq_value_unsigned)
%answers_nothing(acemq_value_double)
%answers_nothing(acemq_value_decimal)
%answers_nothing(acemq_value_bytes)
%answers_nothing(acemq_delivery_property_number)
%answers_nothing(acemq_envelope_replayed_at)

%define %output_text(SIGNATURE)
%typemap(in, numinputs=0) SIGNATURE (char text[$1_dim0]) {
    text[0] = '\0';
    $1 = text;
}
%typemap(argout) SIGNATURE {
    %append_text($1)
}
%enddef
%output_text(char id[ANY])
%output_text(char name[ANY])
%output_text(char text[ANY])
%output_text(char token[ANY])
%output_text(char queue[ANY])
%output_text(char out[ANY])

/* A member's name, when there is a member: until table.h was read. */
%output_text(char name[256])
%typemap(argout) char name[256] {
    if (result != NULL) {
        %append_text($1)
    }
}

%typemap(in, numinputs=0) char ** (char *owned = NULL) "$1 = &owned;"
%typemap(argout) char ** {
    %append_text(*$1)
    acemq_free(*$1);
}

%define %output_bytes(SIGNATURE)
%typemap(in, numinputs=0) SIGNATURE (void *owned = NULL, size_t length = 0) {
    $1 = &owned;
    $2 = &length;
}
%typemap(argout) SIGNATURE {
    %append_bytes((*$1 == NULL ? "" : *$1), *$2)
    acemq_free(*$1);
}
%enddef
%output_bytes((void **body, size_t *length))
%output_bytes((void **payload, size_t *length))
%output_bytes((void **framed, size_t *length))

%define %output_view(PARAMETER, CONDITION)
%typemap(in, numinputs=0) acemq_bytes *PARAMETER (acemq_bytes view) {
    memset(&view, 0, sizeof view);
    $1 = &view;
}
%typemap(argout) acemq_bytes *PARAMETER {
    if (CONDITION) {
        %append_bytes($1->data, $1->length)
    }
}
%enddef
%output_view(bytes, result)
%output_view(map, result == ACEMQ_OK)
%output_view(rest, result == ACEMQ_OK)
