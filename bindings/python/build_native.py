"""Makes the source of the compiled part; setup.py and nothing else uses it."""

import os
import pathlib

import cffi

import declarations

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADERS = pathlib.Path(os.environ.get("ACEMQ_HEADERS", ROOT / "abi" / "include"))
BUILD = pathlib.Path(os.environ.get("ACEMQ_BUILD", ROOT / "build"))

CALLBACKS = """
extern "Python" {
    int acemq_py_decode(acemq_bytes body, const char *content_type, char *reason, size_t size, void *user);
    int acemq_py_claim_key(acemq_delivery *delivery, char *key, size_t size, void *user);
    int acemq_py_replay_filter(const acemq_delivery *delivery, void *user);
    void acemq_py_replay_progress(uint64_t replayed, uint64_t declined, uint64_t total, void *user);
    int acemq_py_claim_put(const char *key, acemq_bytes object, char *reason, size_t reason_size, void *user);
    int acemq_py_claim_get(const char *key, acemq_claim_object *object, char *reason, size_t reason_size, void *user);
    int acemq_py_claim_remove(const char *key, char *reason, size_t reason_size, void *user);
    int acemq_py_before_publish(acemq_interception *call, acemq_message *message, void *user);
    int acemq_py_confirmed(acemq_interception *call, const acemq_message *message, void *user);
    int acemq_py_publish_failed(acemq_interception *call, const acemq_message *message,
                                const acemq_error *error, void *user);
    acemq_outcome acemq_py_before_handle(acemq_interception *call, acemq_delivery *delivery, void *user);
    int acemq_py_after_handle(acemq_interception *call, const acemq_delivery *delivery, int outcome, void *user);
    int acemq_py_handle_failed(acemq_interception *call, const acemq_delivery *delivery, int outcome,
                               const char *reason, void *user);
}
"""

ffibuilder = cffi.FFI()
ffibuilder.cdef(declarations.of_headers(HEADERS / "acemq"))
ffibuilder.cdef((HERE / "src" / "glue.h").read_text(encoding="utf-8"))
ffibuilder.cdef(CALLBACKS)
ffibuilder.set_source(
    "acemq._native",
    "#include <acemq/acemq.h>\n" + (HERE / "src" / "glue.h").read_text(encoding="utf-8"),
    sources=[os.path.relpath(HERE / "src" / "glue.c", HERE)],
    include_dirs=[str(HEADERS), str(HERE / "src")],
    library_dirs=[str(BUILD / "lib")],
    libraries=["acemq"],
    extra_compile_args=["-std=gnu11", "-O2", "-g0", "-Wno-unused-function"],
)
