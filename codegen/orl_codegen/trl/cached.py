"""A property that is worked out once, without a lock.

`functools.cached_property` of Python 3.11 holds one meanwhile, for all objects of the class: a process that is forked
while another thread fetches a dataset could never use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached(Generic[T]):
    """A property that is worked out on first use; by each of the threads that come before the first one has it."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type[Any]) -> cached[T]: ...
    @overload
    def __get__(self, one: object, owner: type[Any]) -> T: ...
    def __get__(self, one: object | None, owner: type[Any]) -> cached[T] | T:
        if one is None:
            return self
        value: T = vars(one).setdefault(self._name, self._work(one))  # from then on, found before this is asked
        return value
