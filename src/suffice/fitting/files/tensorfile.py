"""A safetensors file in which no byte can change unnoticed.

    8 bytes      length of the header, little endian
    header       JSON: {"__metadata__": {"sha256": …, texts}, name: {dtype, shape, data_offsets}, …}
    data         the tensors one after the other, C order, little endian

safetensors itself has no checksum.  Here the first metadata entry is the SHA-256 of
the whole file with its own 64 digits read as zeros, so it covers the length, the
header and the data.  The same content always gives the same bytes; safetensors'
own writer puts the metadata in random order, which is why the few lines of writing
are here.  Any safetensors reader opens the result.

Reading trusts nothing: every length is compared with the size of the file before
memory is asked for, so that no file costs more memory than a small multiple of its size.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST_HEADER = 100_000_000  # bytes; readers of safetensors refuse more
MOST_DIMENSIONS = 64  # numpy's own limit
CHUNK = 1 << 22  # bytes read and hashed at a time

DTYPES = {
    "BOOL": "b1", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8",
    "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "F16": "f2", "F32": "f4", "F64": "f8",
}  # fmt: skip
CODES = {kind: code for code, kind in DTYPES.items()}

_OPENING = b'{"__metadata__":{"sha256":"'
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + 64)
_ZEROS = b"0" * 64


@dataclass(frozen=True)
class Header:
    """The beginning of a file, parsed but not yet believed.

    Attributes
    ----------
    metadata : dict of str to str
        The texts; empty if the file has none.
    entries : dict
        What the file says about each tensor, in file order.
    raw : bytes
        Length and header as they are in the file.
    """

    metadata: dict[str, str]
    entries: dict[str, Any]
    raw: bytes


def pack(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> list[bytes | memoryview]:
    """The content of a file, as buffers to be written one after the other.

    Parameters
    ----------
    tensors : mapping of str to ndarray
        Arrays of the dtypes in `CODES`; they are copied only where they are not
        little endian and contiguous in C order.
    metadata : mapping of str to str
        ASCII texts.

    Returns
    -------
    list of bytes and memoryview
        Length and header, then the bytes of each tensor.
    """
    # Wide items first, so that each tensor begins at a multiple of its item size.
    names = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    entries, data, end = {}, [], 0
    for name in names:
        # np.ascontiguousarray would turn a 0-d array into a 1-d one.
        tensor = tensors[name]
        tensor = np.asarray(tensor, dtype=tensor.dtype.newbyteorder("<"), order="C")
        start, end = end, end + tensor.nbytes
        code = CODES[tensor.dtype.str[1:]]
        entries[name] = {"dtype": code, "shape": tensor.shape, "data_offsets": [start, end]}
        data.append(tensor.reshape(-1).view(np.uint8).data)
    texts = {"sha256": _ZEROS.decode(), **metadata}
    header = json.dumps({"__metadata__": texts, **entries}, separators=(",", ":")).encode("ascii")
    header += b" " * (-len(header) % 8)
    if len(header) > LONGEST_HEADER:
        raise ValueError(
            f"the model's description takes {len(header):,} bytes; a file holds at most "
            f"{LONGEST_HEADER:,}. Keep long lists of numbers or strings as arrays."
        )
    raw = len(header).to_bytes(8, "little") + header
    digest = hashlib.sha256(raw)
    for buffer in data:
        digest.update(buffer)
    return [_with_digest(raw, digest.hexdigest().encode()), *data]


def read_header(file: BufferedReader, size: int) -> Header:
    """Read and parse the header of a file of `size` bytes.

    Raises
    ------
    ValueError
        If this is no safetensors file, or one cut short within the header.
    """
    head = file.read(9)
    length = int.from_bytes(head[:8], "little")
    if head[8:] != b"{" or not 0 < length <= LONGEST_HEADER:
        raise ValueError(f"it is {_looks_like(head)}, not a saved model")
    if 8 + length > size:
        raise ValueError(
            f"it is cut short: the header should take {length:,} bytes, the file has {size:,}"
        )
    raw = head + file.read(length - 1)
    header = parse_json(raw[8:])
    if len(raw) != 8 + length or not isinstance(header, dict):
        raise ValueError("its header is damaged")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise ValueError("its metadata is damaged")
    return Header(metadata, header, raw)


def read_tensors(file: BufferedReader, header: Header, size: int) -> dict[str, NDArray[Any]]:
    """Read what follows the header, and compare the whole file with its SHA-256.

    Returns
    -------
    dict of str to ndarray
        Little endian arrays in C order which own their memory.

    Raises
    ------
    ValueError
        If a shape does not fit its bytes, bytes are missing or left over, or any
        byte of the file is not as it was written.
    """
    layout = _layout(header.entries, size - len(header.raw))
    if header.raw[8 : _DIGEST.start] != _OPENING:
        raise ValueError("its header does not begin with its SHA-256")
    digest = hashlib.sha256(_with_digest(header.raw, _ZEROS))
    tensors = {}
    for name, (dtype, shape) in layout.items():
        tensors[name] = tensor = np.empty(shape, dtype)
        flat = tensor.reshape(-1).view(np.uint8)
        for start in range(0, flat.size, CHUNK):
            chunk: Any = flat[start : start + CHUNK]
            if file.readinto(chunk) != chunk.size:
                raise ValueError(f"it is cut short within tensor {name!r}")
            digest.update(chunk)
        if dtype == np.bool_ and flat.max(initial=0) > 1:
            raise ValueError(f"tensor {name!r} should be of booleans and is not")
    if digest.hexdigest().encode() != header.raw[_DIGEST]:
        raise ValueError("its content does not agree with its SHA-256: the file was altered")
    return tensors


def parse_json(text: str | bytes) -> Any:
    """`json.loads` without its leniences: no key twice, no NaN, no overflow, no huge integer."""
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode("utf-8"),
            object_pairs_hook=_without_repetition,
            parse_int=_moderate_int,
            parse_float=_finite_float,
            parse_constant=_finite_float,
        )
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its JSON is damaged ({error})") from None
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def check_shape(shape: Any, what: str) -> tuple[int, ...]:
    """The shape written in a file as a tuple, if it is one that an array can have."""
    if (
        not isinstance(shape, list)
        or len(shape) > MOST_DIMENSIONS
        or not all(type(length) is int and 0 <= length < 2**63 for length in shape)
    ):
        raise ValueError(f"the shape of {what} is not valid")
    return tuple(shape)


def _layout(entries: Mapping[str, Any], available: int) -> dict[str, tuple[np.dtype[Any], Any]]:
    """Dtype and shape of each tensor, which together fill the available bytes exactly."""
    layout, end = {}, 0
    for name, entry in entries.items():
        what = f"tensor {name[:80]!r}"
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"the description of {what} is damaged")
        code, shape = entry["dtype"], check_shape(entry["shape"], what)
        if not isinstance(code, str) or code not in DTYPES:
            raise ValueError(f"the dtype of {what} is not one that models have")
        dtype = np.dtype("<" + DTYPES[code])
        start, end = end, end + math.prod(shape) * dtype.itemsize
        if entry["data_offsets"] != [start, end]:
            raise ValueError(f"the place of {what} does not fit its shape {shape}")
        layout[name] = dtype, shape
    if end != available:
        raise ValueError(f"its tensors take {end:,} bytes, but {available:,} follow the header")
    return layout


def _with_digest(raw: bytes, digits: bytes) -> bytes:
    return raw[: _DIGEST.start] + digits + raw[_DIGEST.stop :]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("its JSON has a key twice")
    return members


def _moderate_int(digits: str) -> int:
    if len(digits) > 20:  # -2**63 has 20 characters
        raise ValueError("its JSON has an integer that is too long")
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"its JSON has the number {digits[:20]}")
    return number


def _looks_like(head: bytes) -> str:
    """What a file that begins so probably is."""
    if not head:
        return "empty"
    if head[0] == 0x80 and head[1:2] <= b"\x05":
        return "a pickle (which could run code and is never loaded)"
    if head.startswith(b"PK"):
        return "a zip archive"
    if head.startswith(b"\x93NUMPY"):
        return "a numpy array file"
    if head.lstrip()[:1] in (b"{", b"["):
        return "JSON text"
    return "a file of another kind"
