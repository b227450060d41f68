"""Fitted models as a JSON tree and named tensors (`decoding` is the way back).

Numbers, strings and containers become JSON; arrays become tensors, named by where
they are in the model (``coef_``, ``statistics_.scatter``, ``estimators_[3].coef_``).
What JSON has no word for is an object with one key, its tag:

    {"tuple": […]}  {"dict": [[key, value], …]}  {"mapping": the same, read-only}
    {"int": hexadecimal}  {"float": its bits}  {"str": UTF-8 in hexadecimal}
    {"bytes": tensor}  {"scalar": [dtype, bytes]}  {"array": [tensor, order, endianness]}
    {"number": name}, a type such as numpy.float64, numpy.number or object
    {"slice": [start, stop, step]}  {"range": the same}  {"masked": [array, mask, fill value]}
    {"text": {shape, …}}  {"objects": {shape, items}}
    {"record": {class, fields}}  {"model": {class, params, attributes}}

Strings of an array are one tensor of UTF-8 and one of offsets.  A record is a
registered dataclass, or a class of scikit-learn that is told nothing but values.  No tag names
code.
"""

from __future__ import annotations

import dataclasses
import math
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.files import scikit_learn
from suffice.fitting.files.registry import (
    FindModel,
    attribute_problem,
    file_name,
    fitted_attributes,
    init_fields,
    is_model_class,
    may_be_saved,
    param_names,
    record_name,
)
from suffice.fitting.files.tensorfile import CODES

DEEPEST = 100  # levels of nesting; also what stops a list that contains itself
WIDENING = 16  # the most bytes of a unicode array that one byte of a file may ask for


class Encoder:
    """Turn values into JSON nodes, gathering their arrays in `tensors`.

    Parameters
    ----------
    find_model : callable, default=None
        From a class's name to the class, or None if there is no such model.
    """

    def __init__(self, find_model: FindModel | None = None) -> None:
        self.tensors: dict[str, NDArray[Any]] = {}
        self._find_model = find_model
        self._depth = 0

    def encode(self, value: Any, path: str) -> Any:
        """The node of a value.

        Parameters
        ----------
        value : object
            What to store.
        path : str
            Where it is in the model, for messages and names of tensors; "" for the
            model itself.

        Raises
        ------
        TypeError
            If the value, or anything in it, is of a type that cannot be stored.
        ValueError
            If it is nested too deeply.
        """
        if self._depth == DEEPEST:
            raise ValueError(
                f"cannot save {path[:200]}: it is nested more than {DEEPEST} levels deep"
            )
        self._depth += 1
        try:
            return self._encode(value, path)
        finally:
            self._depth -= 1

    def _encode(self, value: Any, path: str) -> Any:
        # Types are compared exactly: a subclass would come back as its base.
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if abs(value) < 2**63 else {"int": format(value, "x")}
        if kind is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        if kind is str:
            return _encode_str(value)
        if kind is bytes:
            return {"bytes": self._tensor(np.frombuffer(value, np.uint8), path)}
        if kind is list:
            return self._items(value, path)
        if kind is tuple:
            return {"tuple": self._items(value, path)}
        if kind is dict:
            return {"dict": self._pairs(value, path)}
        if kind is MappingProxyType:
            return {"mapping": self._pairs(value, path)}
        if isinstance(value, np.generic):
            return _encode_scalar(value, path)
        if isinstance(value, type) and (name := number_type_name(value)):
            return {"number": name}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, path)
        if kind in (slice, range):
            return {kind.__name__: self._items((value.start, value.stop, value.step), path)}
        if kind is np.ma.MaskedArray:
            parts = (value.data, np.ma.getmaskarray(value), value.fill_value)
            return {"masked": self._items(parts, path)}
        if dataclasses.is_dataclass(kind) or record_name(kind):
            return {"record": self._record(value, path)}
        if is_model_class(kind):
            return {"model": self._model(value, path)}
        raise _unsupported(value, path)

    def _items(self, items: Sequence[Any], path: str) -> list[Any]:
        places = _places(items, path)
        return [self.encode(item, place) for item, place in zip(items, places, strict=True)]

    def _pairs(self, members: Mapping[Any, Any], path: str) -> list[list[Any]]:
        pairs = []
        for key, value in members.items():
            if not is_plain_key(key):
                raise TypeError(
                    f"cannot save {path}: it has a key of type {_type_name(key)}; keys may be "
                    "strings, numbers, None, and tuples of these"
                )
            pairs.append([self.encode(key, path), self.encode(value, f"{path}[{key!a}]")])
        return pairs

    def _array(self, array: NDArray[Any], path: str) -> dict[str, Any]:
        if array.dtype.str[1:] in CODES:
            order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
            return {"array": [self._tensor(array, path), order, _endianness(array.dtype)]}
        if array.dtype.kind == "U":
            return {"text": self._text(array, path, array.dtype.itemsize // 4)}
        if array.dtype.kind != "O":
            raise TypeError(
                f"cannot save {path}: an array of dtype {array.dtype} is not supported; dtypes "
                "may be bool, integers, float16 to float64, strings and objects"
            )
        items = array.ravel().tolist()
        if all(item is None or type(item) is str for item in items):
            return {"text": self._text(array, path, None)}
        return {"objects": {"shape": list(array.shape), "items": self._items(items, path)}}

    def _text(self, array: NDArray[Any], path: str, width: int | None) -> dict[str, Any]:
        """A unicode array of some width, or (None) an array of str and None objects."""
        strings = array.ravel().tolist()
        encoded = [b"" if s is None else s.encode("utf-8", "surrogatepass") for s in strings]
        node: dict[str, Any] = {"shape": list(array.shape)}
        if width is None:
            missing = np.array([s is None for s in strings], dtype=np.bool_)
            if missing.any():
                node["missing"] = self._tensor(missing, f"{path}:missing")
        else:
            node |= {"width": width, "endianness": _endianness(array.dtype)}
            if too_wide(len(strings), width, sum(map(len, encoded))):
                # One long string among many short ones: a file of UTF-8 would ask for
                # memory far beyond its own size, which reading does not grant.
                wide = np.asarray(array, dtype=f"=U{width}", order="C").reshape(-1)
                return node | {"ucs4": self._tensor(wide.view(np.uint32), f"{path}:ucs4")}
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        utf8 = np.frombuffer(b"".join(encoded), np.uint8)
        node["utf8"] = self._tensor(utf8, f"{path}:utf8")
        node["offsets"] = self._tensor(offsets, f"{path}:offsets")
        return node

    def _record(self, record: Any, path: str) -> dict[str, Any]:
        name = record_name(type(record))
        if name is None:
            raise TypeError(
                f"cannot save {path}: the dataclass {_type_name(record)} is not registered"
            )
        values = scikit_learn.arguments(record, init_fields(type(record)))  # type: ignore[arg-type]
        return {
            "class": name,
            "fields": {f: self.encode(v, f"{path}.{f}") for f, v in values.items()},
        }

    def _model(self, model: Any, path: str) -> dict[str, Any]:
        cls = type(model)
        if not may_be_saved(cls, self._find_model):
            raise TypeError(
                f"cannot save {path or 'this'}: {_type_name(model)} is not one of the models that "
                f"files can hold{self._instead(cls)}"
            )
        try:
            scikit_learn.check(model)
        except ValueError as error:  # or else the file could not be loaded
            raise TypeError(f"cannot save {path or 'this'}: {error}") from None
        params, attributes = model.get_params(deep=False), fitted_attributes(model)
        if unknown := set(params) - param_names(cls):  # type: ignore[arg-type]
            raise TypeError(f"cannot save {path or 'this'}: no constructor takes {unknown}")
        prefix = f"{path}." if path else ""
        for name in attributes:
            if problem := attribute_problem(cls, name):
                raise TypeError(f"cannot save {prefix}{name}: {problem}")
        return {
            "class": file_name(cls),
            "params": self._members(model, params, prefix),
            "attributes": self._members(model, attributes, prefix),
        }

    def _members(self, model: Any, members: dict[str, Any], prefix: str) -> dict[str, Any]:
        nodes = {}
        for name, value in members.items():
            try:
                stored = scikit_learn.as_stored(model, name, value)
            except TypeError as error:
                raise TypeError(f"cannot save {prefix}{name}: {error}") from None
            nodes[name] = self.encode(stored, f"{prefix}{name}")
        return nodes

    def _instead(self, cls: type) -> str:
        """Which model of this library could take the place of another's, for a message."""
        name = scikit_learn.OURS.get(cls.__name__, cls.__name__)
        own = self._find_model(name) if self._find_model is not None else None
        return "" if own is None else f"; {public_name(own)} could take its place"

    def _tensor(self, array: NDArray[Any], name: str) -> str:
        while name in self.tensors:  # only keys that look alike, such as two NaN, come here
            name += "'"
        self.tensors[name] = array
        return name


KINDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        object, bool, int, float, str, np.object_, np.number, np.integer, np.signedinteger,
        np.unsignedinteger, np.inexact, np.floating,
    )
}  # fmt: skip
"""Types that stand for columns of a kind, or for the dtype that NumPy makes of them."""


def number_type_name(cls: type) -> str | None:
    """What files call one of NumPy's types of numbers, or of `KINDS`; None if it is neither."""
    if KINDS.get(cls.__name__) is cls:
        return cls.__name__
    code = np.dtype(cls).str[1:] if issubclass(cls, np.generic) else ""
    return code if code in CODES and np.dtype(code).type is cls else None


def is_plain_key(key: Any) -> bool:
    """Whether a file may hold this as the key of a dict."""
    if type(key) is tuple:
        return all(map(is_plain_key, key))
    return key is None or type(key) in (str, bool, int, float) or isinstance(key, np.generic)


def too_wide(count: int, width: int, content: int) -> bool:
    """Whether so many strings of this width take far more memory than their content."""
    # numpy gives an empty array the memory of one item.
    return 4 * max(count, 1) * width > WIDENING * (content + 8 * count) + 2**20


def _encode_str(value: str) -> Any:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        # Lone surrogates: reading JSON would join two neighbours into one character.
        return {"str": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _encode_scalar(value: np.generic, path: str) -> dict[str, Any]:
    if type(value) is np.str_:
        return {"scalar": ["str", value.encode("utf-8", "surrogatepass").hex()]}
    if value.dtype.str[1:] not in CODES:
        raise _unsupported(value, path)
    little = np.asarray(value, value.dtype.newbyteorder("<"))
    return {"scalar": [value.dtype.str[1:], little.tobytes().hex()]}


def _endianness(dtype: np.dtype[Any]) -> str:
    return "=" if dtype.isnative else dtype.str[0]


def _places(items: Sequence[Any], path: str) -> Iterator[str]:
    """Where items are: by number, or by the name that stands before a part of a model."""
    for i, item in enumerate(items):
        if i == 1 and _is_named(items):
            yield path
        else:
            yield f"{path}[{item[0]!a}]" if _is_named(item) else f"{path}[{i}]"


def _is_named(item: Any) -> bool:
    return type(item) is tuple and len(item) > 1 and type(item[0]) is str


def _type_name(value: Any) -> str:
    return public_name(type(value))


def public_name(cls: type) -> str:
    """A class by the shortest path of packages and modules that leads to it."""
    packages = cls.__module__.split(".")
    paths = [".".join(packages[:n]) for n in range(1, len(packages) + 1)]
    known = [path for path in paths if getattr(sys.modules.get(path), cls.__name__, None) is cls]
    module = known[0] if known else cls.__module__
    return cls.__name__ if module == "builtins" else f"{module}.{cls.__qualname__}"


def _unsupported(value: Any, path: str) -> TypeError:
    why = "; a file holds no code" if callable(value) else ""
    return TypeError(
        f"cannot save {path}: values of type {_type_name(value)} are not supported{why}"
    )
