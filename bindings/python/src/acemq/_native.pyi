"""The compiled part: what cffi makes of declarations.py has no types of Python's."""

from typing import Any

ffi: Any
lib: Any
