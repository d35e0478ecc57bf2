"""Keyword arguments that nobody knows. The error names what the application called, and what it may have meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, FrozenSet, Iterable, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@functools.lru_cache(maxsize=None)
def options_of(*functions: Callable[..., Any]) -> FrozenSet[str]:
    """What these take by keyword only."""
    return frozenset(
        name
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind == inspect.Parameter.KEYWORD_ONLY
    )


def suggestion(name: str, known: Iterable[str]) -> str:
    """A sentence with the name that comes close, or ``""``."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f". Did you mean '{close[0]}'?" if close else ""


def check_keywords(called: str, given: Iterable[str], known: FrozenSet[str]) -> None:
    """Raises TypeError for the first that is not known, as Python does."""
    for name in given:
        if name not in known:
            raise TypeError(f"{called}() got an unexpected keyword argument '{name}'{suggestion(name, known)}")


def known_keywords(function: _Function) -> _Function:
    """A decorator for what says by its signature all that it takes. A method is named with the class of its object, and
    the making of one with the class alone."""
    parameters = list(inspect.signature(function).parameters.values())
    known = frozenset(parameter.name for parameter in parameters if parameter.kind in _NAMED)
    is_method = parameters[0].name == "self"

    def called(arguments: Any) -> str:
        if not is_method:
            return function.__name__
        kind = type(arguments[0]).__name__
        return kind if function.__name__ == "__init__" else f"{kind}.{function.__name__}"

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not named.keys() <= known:
            check_keywords(called(arguments), named, known)
        return function(*arguments, **named)

    return cast(_Function, checked)
