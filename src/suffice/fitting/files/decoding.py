"""Values from the JSON tree and the tensors that `encoding` describes.

Every node is checked before it is used.  Whatever does not fit is a `ValueError`,
and no node asks for more memory than a small multiple of what it takes in the file.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.fitting.files import scikit_learn
from suffice.fitting.files.encoding import DEEPEST, KINDS, is_plain_key, too_wide
from suffice.fitting.files.registry import (
    FindModel,
    attribute_problem,
    find_model_class,
    find_record,
    init_fields,
    is_model_class,
    param_names,
)
from suffice.fitting.files.shapes import check_shapes
from suffice.fitting.files.tensorfile import CODES, check_shape

_TEXT_MEMBERS = {"width", "endianness", "utf8", "offsets", "missing", "ucs4"}


class Decoder:
    """Turn JSON nodes and the tensors they name back into values.

    Parameters
    ----------
    tensors : mapping of str to ndarray
        The arrays of the file; each is used once.
    find_model : callable, default=None
        From a class's name to the class, or None if there is no such model.
    """

    def __init__(
        self, tensors: Mapping[str, NDArray[Any]], find_model: FindModel | None = None
    ) -> None:
        self.unused = dict(tensors)
        self._find_model = find_model
        self._depth = 0

    def decode(self, node: Any) -> Any:
        """The value of a node.

        Raises
        ------
        ValueError
            If the node is not one that `Encoder` writes, or does not fit its class.
        """
        if self._depth == DEEPEST:
            raise ValueError("its content is nested too deeply")
        self._depth += 1
        try:
            if isinstance(node, list):
                return [self.decode(item) for item in node]
            if not isinstance(node, dict):
                return node
            if len(node) != 1:
                raise ValueError("its content has a node without a single tag")
            ((tag, payload),) = node.items()
            if tag not in self._READERS:
                raise ValueError(f"its content has an unknown tag {tag[:40]!r}")
            return self._READERS[tag](self, payload)
        finally:
            self._depth -= 1

    def _int(self, payload: Any) -> int:
        if not re.fullmatch("-?[0-9a-f]+", _string(payload)):
            raise ValueError("an integer is damaged")
        return int(payload, 16)

    def _float(self, payload: Any) -> float:
        return float(struct.unpack(">d", _hexadecimal(payload, 8))[0])

    def _str(self, payload: Any) -> str:
        return _hexadecimal(payload).decode("utf-8", "surrogatepass")

    def _bytes(self, payload: Any) -> bytes:
        return self._tensor(payload, np.uint8).tobytes()

    def _tuple(self, payload: Any) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in _list(payload))

    def _dict(self, payload: Any) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        for pair in _list(payload):
            encoded_key, encoded_value = _list(pair, 2)
            key = self.decode(encoded_key)
            if not is_plain_key(key) or key in members:
                raise ValueError("a dict has a key that is not valid, or has it twice")
            members[key] = self.decode(encoded_value)
        return members

    def _mapping(self, payload: Any) -> MappingProxyType[Any, Any]:
        return MappingProxyType(self._dict(payload))

    def _scalar(self, payload: Any) -> Any:
        kind, content = _list(payload, 2)
        if kind == "str":
            return np.str_(self._str(content))
        dtype = _scalar_dtype(kind)
        content = _hexadecimal(content, dtype.itemsize)
        if dtype == np.bool_ and content not in (b"\0", b"\1"):
            raise ValueError("a boolean is damaged")
        return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))[0]

    def _number(self, payload: Any) -> type:
        return KINDS.get(_string(payload)) or _scalar_dtype(payload).type

    def _slice(self, payload: Any) -> slice:
        ends = [self.decode(end) for end in _list(payload, 3)]
        if not all(map(is_plain_key, ends)):
            raise ValueError("a slice has ends that are neither numbers nor names")
        return slice(*ends)

    def _range(self, payload: Any) -> range:
        ends = [self.decode(end) for end in _list(payload, 3)]
        if not all(type(end) is int for end in ends):
            raise ValueError("a range is not one of integers")
        if not ends[2]:
            raise ValueError("a range has steps of 0")
        return range(*ends)

    def _masked(self, payload: Any) -> Any:
        data, mask, fill = (self.decode(part) for part in _list(payload, 3))
        arrays = isinstance(data, np.ndarray) and isinstance(mask, np.ndarray)
        if not arrays or mask.dtype != np.bool_ or mask.shape != data.shape:
            raise ValueError("the mask of an array does not fit it")
        return _construct(np.ma.MaskedArray, {"data": data, "mask": mask, "fill_value": fill})

    def _array(self, payload: Any) -> NDArray[Any]:
        name, order, endianness = _list(payload, 3)
        if order not in ("C", "F"):
            raise ValueError("the order of an array is not valid")
        tensor = self._tensor(name)
        dtype = tensor.dtype.newbyteorder(_checked_endianness(endianness))
        return np.asarray(tensor, dtype=dtype, order=order)

    def _text(self, payload: Any) -> NDArray[Any]:
        node = _members(payload, {"shape"}, _TEXT_MEMBERS)
        shape = check_shape(node["shape"], "an array of strings")
        count = math.prod(shape)
        if "width" not in node:
            return self._objects_of(shape, self._strings(node, count))
        width = node["width"]
        if "missing" in node:
            raise ValueError("an array of strings of fixed width cannot have missing ones")
        if type(width) is not int or not 0 <= width < 2**29:
            raise ValueError("the width of an array of strings is not valid")
        dtype = np.dtype(f"=U{width}").newbyteorder(_checked_endianness(node.get("endianness")))
        if "ucs4" in node:
            codes = self._tensor(node["ucs4"], np.uint32).astype(np.uint32, copy=False)
            if width == 0 or codes.size != count * width or codes.max(initial=0) > 0x10FFFF:
                raise ValueError("an array of strings is damaged")
            return codes.view(f"=U{width}").reshape(shape).astype(dtype, copy=False)
        strings = self._strings(node, count, width)
        array = np.ndarray(shape, dtype)  # np.empty would widen a width of 0
        array[...] = np.array(strings, dtype=f"=U{width}").reshape(shape)
        return array

    def _strings(self, node: dict[str, Any], count: int, width: int | None = None) -> list[Any]:
        utf8 = self._tensor(node.get("utf8"), np.uint8).tobytes()
        offsets = self._tensor(node.get("offsets"), np.int64)
        if offsets.shape != (count + 1,) or offsets[0] != 0 or offsets[-1] != len(utf8):
            raise ValueError("the offsets of an array of strings do not fit it")
        if np.any(offsets[1:] < offsets[:-1]):
            raise ValueError("the offsets of an array of strings do not increase")
        if width is not None and too_wide(count, width, len(utf8)):
            raise ValueError("an array of strings asks for far more memory than its content")
        ends = offsets.tolist()
        strings: list[Any] = [
            utf8[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)
        ]
        if width is not None and max(map(len, strings), default=0) > width:
            raise ValueError("an array of strings has one longer than its width")
        if "missing" in node:
            missing = self._tensor(node["missing"], np.bool_)
            if missing.shape != (count,):
                raise ValueError("the missing strings of an array do not fit it")
            for i in np.flatnonzero(missing):
                strings[i] = None
        return strings

    def _objects(self, payload: Any) -> NDArray[Any]:
        node = _members(payload, {"shape", "items"})
        shape = check_shape(node["shape"], "an array of objects")
        items = _list(node["items"])
        if len(items) != math.prod(shape):
            raise ValueError("an array of objects does not fit its shape")
        return self._objects_of(shape, [self.decode(item) for item in items])

    @staticmethod
    def _objects_of(shape: tuple[int, ...], items: list[Any]) -> NDArray[Any]:
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # assigning the list would unpack arrays in it
            array[i] = item
        return array.reshape(shape)

    def _record(self, payload: Any) -> Any:
        node = _members(payload, {"class", "fields"})
        cls = find_record(_string(node["class"]))
        if cls is None:
            raise ValueError(f"it holds a {node['class'][:80]!r}, which is unknown here")
        fields = _members(node["fields"], set(), set(init_fields(cls)))
        return checked(
            _construct(cls, {name: self.decode(value) for name, value in fields.items()})
        )

    def _model(self, payload: Any) -> Any:
        node = _members(payload, {"class", "params", "attributes"})
        name = _string(node["class"])
        cls = find_model_class(name, self._find_model)
        if cls is None:
            raise ValueError(f"it holds a {name[:80]!r}, which is no model known here")
        params, attributes = _object(node["params"]), _object(node["attributes"])
        for unknown in params.keys() - param_names(cls):
            raise ValueError(f"{name} has no parameter {unknown[:80]!r}, which the file sets")
        for attribute in attributes:
            if problem := attribute_problem(cls, attribute):
                raise ValueError(f"{name} cannot have {attribute[:80]!r} set: {problem}")
        model = _construct(cls, {key: self.decode(value) for key, value in params.items()})
        vars(model).update({key: self.decode(value) for key, value in attributes.items()})
        return checked(model)

    def _tensor(self, name: Any, dtype: type | None = None) -> NDArray[Any]:
        tensor = self.unused.pop(name, None) if isinstance(name, str) else None
        if tensor is None:
            raise ValueError("a tensor is missing or used twice")
        if dtype is not None and (tensor.dtype.newbyteorder("=") != dtype or tensor.ndim != 1):
            raise ValueError(
                f"tensor {name[:80]!r} is not of the dtype and shape that it should be"
            )
        return tensor

    _READERS = {
        "int": _int, "float": _float, "str": _str, "bytes": _bytes, "tuple": _tuple,
        "dict": _dict, "mapping": _mapping, "scalar": _scalar, "array": _array,
        "text": _text, "objects": _objects, "record": _record, "model": _model, "number": _number,
        "slice": _slice, "range": _range, "masked": _masked,
    }  # fmt: skip


def _scalar_dtype(kind: Any) -> np.dtype[Any]:
    if _string(kind) not in CODES:
        raise ValueError("a number is of an unknown dtype")
    return np.dtype("<" + kind)


def _checked_endianness(mark: Any) -> Any:
    if mark not in ("=", "<", ">"):
        raise ValueError("the endianness of an array is not valid")
    return mark


def _string(node: Any) -> str:
    if not isinstance(node, str):
        raise ValueError("its content has something else where a string should be")
    return node


def _hexadecimal(node: Any, length: int | None = None) -> bytes:
    content = bytes.fromhex(_string(node))
    if length is not None and len(content) != length:
        raise ValueError("a number has the wrong number of bytes")
    return content


def _list(node: Any, length: int | None = None) -> list[Any]:
    if not isinstance(node, list) or (length is not None and len(node) != length):
        raise ValueError("its content has something else where a list should be")
    return node


def _object(node: Any) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise ValueError("its content has something else where an object should be")
    return node


def _members(
    node: Any,
    required: frozenset[str] | set[str],
    optional: frozenset[str] | set[str] = frozenset(),
) -> dict[str, Any]:
    """The node if it is an object with all required and no unknown members."""
    names = set(_object(node))
    if missing := required - names:
        raise ValueError(f"its content lacks {sorted(missing)}")
    if extra := names - required - optional:
        raise ValueError(f"its content has unknown members {sorted(extra)[:5]}")
    return _object(node)


def _construct(cls: type, values: dict[str, Any]) -> Any:
    try:
        return cls(**values)
    except Exception as error:
        raise ValueError(f"{cls.__name__} does not accept what it holds: {error}") from error


def checked(loaded: Any) -> Any:
    """The record or model, if its parts fit each other.

    A class declares their shapes (`suffice.fitting.files.shapes`), and may have more to ask of
    them in `_check_loaded`; for those of scikit-learn, `suffice.fitting.files.scikit_learn` asks.
    """
    try:
        check_shapes(loaded)
        if is_model_class(type(loaded)):
            scikit_learn.check(loaded)
            scikit_learn.restore(loaded)
        if hasattr(loaded, "_check_loaded"):
            loaded._check_loaded()
    except Exception as error:
        raise ValueError(f"{type(loaded).__name__} is damaged: {error}") from error
    return loaded
