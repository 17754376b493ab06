"""Old names of arguments and attributes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, cast

from ._errors import InvalidType

_F = TypeVar("_F", bound=Callable[..., Any])


def renamed_arguments(**names: str) -> Callable[[_F], _F]:
    """Decorates a function that still accepts old names of its leading arguments, ``old="new"``, with a DeprecationWarning.

    The `names` are in the order of the arguments.
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                return function(*args, **options)
            except TypeError:
                # An old name is an unexpected argument. Calls without one, nearly all, pay nothing for this.
                if names.keys().isdisjoint(options):
                    raise
            for place, (old, new) in enumerate(names.items()):
                if old not in options:
                    continue
                if new in options or len(args) > place:
                    raise InvalidType(f"`{new}` is given twice: `{old}` is its old name")
                warnings.warn(f"`{old}` is now called `{new}`", DeprecationWarning, stacklevel=2)
                options[new] = options.pop(old)
            return function(*args, **options)

        return cast(_F, call)

    return decorate


def explained_attributes(new_names: Mapping[str, str]) -> Callable[[object, str], NoReturn]:
    """Returns a ``__getattr__`` that raises AttributeError; for an old name, the message says the new one."""

    def __getattr__(self: object, name: str) -> NoReturn:
        hint = f": it is now called {new_names[name]}" if name in new_names else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    return __getattr__
