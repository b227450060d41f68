"""Attributes that are computed when they are first asked for, without a lock.

Until Python 3.12, `functools.cached_property` computes under a lock of the whole class.  Threads
wait for each other's values there, and a process that is forked meanwhile has a lock that nobody
will ever release.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A method without arguments whose value is kept as an attribute of the instance.

    Threads that ask at the same time may each compute the value, and one of the results stays:
    it should not depend on when it is computed.

    Examples
    --------
    >>> class Circle:
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.14, 3.14)
    """

    if not TYPE_CHECKING:  # its type is that of functools

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]
