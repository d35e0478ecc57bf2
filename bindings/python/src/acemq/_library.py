"""Finds the library: the file that ACEMQ_LIBRARY names, else the copy in this package, else the system's."""

from __future__ import annotations

import ctypes
import os
import pathlib


def _load() -> None:
    """Once it is in the process, the compiled part is bound to it by its name."""
    named = os.environ.get("ACEMQ_LIBRARY")
    bundled = sorted(pathlib.Path(__file__).resolve().parent.glob("libacemq.so.*"))
    if named:
        ctypes.CDLL(named)
    elif bundled:
        ctypes.CDLL(str(bundled[-1]))


_load()

from acemq._native import ffi, lib  # noqa: E402

__all__ = ["ffi", "lib"]
