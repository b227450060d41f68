"""Saving and loading: exact round trips, and what damaged or forged files get."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import pickle
import random
import stat
import sys
import tempfile
import threading
import tracemalloc
from collections import OrderedDict, namedtuple
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge as ForeignModel

from suffice.fitting.files import storage, tensorfile
from suffice.fitting.files.storage import (
    load_model,
    read_notes,
    register,
    register_model,
    save_model,
    storable,
)
from suffice.fitting.files.tensorfile import LONGEST_HEADER, pack


@register_model
class Line(BaseEstimator):
    """A model with everything a file has to care about."""

    _saved_private = ("_hidden",)
    kind = "line"

    def __init__(self, alpha: Any = 1.0, *, options: Any = None) -> None:
        self.alpha = alpha
        self.options = options

    def predict(self, X: Any) -> Any:
        return X @ self.coef_

    @cached_property
    def slow_(self) -> float:
        return float(self.coef_.sum())


class Child(Line):
    _saved_private = ("_extra",)


class Committee(BaseEstimator):
    """A model that only a lookup function knows."""

    def __init__(self, member: Any = None) -> None:
        self.member = member


class Picky(BaseEstimator):
    def __init__(self, alpha: float = 1.0) -> None:
        if alpha < 0:
            raise RuntimeError("alpha must not be negative")
        self.alpha = alpha


register_model(Picky)


@storable("test-summary")
@dataclass(frozen=True)
class Summary:
    weight: float
    mean: Any = None
    root: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if not isinstance(self.weight, float) or self.weight < 0:
            raise ArithmeticError("weight must not be negative")
        object.__setattr__(self, "root", self.weight**0.5)


@dataclass(frozen=True)
class Unregistered:
    value: int = 0


def find_model(name: str) -> type | None:
    return {"Line": Line, "Child": Child, "Committee": Committee}.get(name)


def small_model() -> Line:
    model = Line(alpha=0.5, options={"solver": "exact", "tolerances": (1e-8, None)})
    model.coef_ = np.arange(12.0).reshape(3, 4) / 7
    model.classes_ = np.array(["ja", "nein", "vielleicht"])
    model.feature_names_in_ = np.array(["größe", "gewicht"], dtype=object)
    model.statistics_ = Summary(4.0, np.array([1.5, -0.0, np.nan]))
    model.n_iter_ = 3
    return model


def same(a: Any, b: Any) -> bool:
    """Equality to the last bit, types and memory order included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind == "O":
            return all(same(x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True))
        if a.dtype.kind != "U" and not a.flags.c_contiguous and a.flags.f_contiguous:
            return b.flags.f_contiguous and a.tobytes() == b.tobytes()
        return b.flags.c_contiguous and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic) and not isinstance(a, np.str_):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict | MappingProxyType):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, Line | Committee | Summary):
        return same(vars(a), vars(b))
    return a == b


def round_trip(value: Any) -> Any:
    """What a fitted attribute and a parameter come back as."""
    model = Line(alpha=value)
    model.coef_ = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save_model(model, path)
        loaded = load_model(path)
    assert same(loaded.alpha, loaded.coef_)
    return loaded.coef_


def sign(header: bytes, data: bytes = b"") -> bytes:
    """A file with this header, in which 64 times Z stands for the digest, and this data."""
    raw = len(header).to_bytes(8, "little") + header
    digest = hashlib.sha256(raw.replace(b"Z" * 64, b"0" * 64) + data).hexdigest().encode()
    return raw.replace(b"Z" * 64, digest) + data


METADATA = {
    "sha256": "Z" * 64, "format": "suffice-model", "format_version": "2",
    "library_version": "0.1.0", "model": "Line", "tree": "null",
}  # fmt: skip


def forged(
    tree: Any = None,
    entries: dict[str, Any] | None = None,
    data: bytes = b"",
    **metadata: str,
) -> bytes:
    """A file with a valid digest and arbitrary content."""
    text = tree if isinstance(tree, str) else json.dumps(tree)
    header = {"__metadata__": METADATA | {"tree": text} | metadata, **(entries or {})}
    return sign(json.dumps(header, separators=(",", ":")).encode(), data)


def line(attributes: Any = None, params: Any = None, name: str = "Line") -> dict[str, Any]:
    return {"model": {"class": name, "params": params or {}, "attributes": attributes or {}}}


def tensor(code: str, shape: list[Any], start: int, end: int) -> dict[str, Any]:
    return {"dtype": code, "shape": shape, "data_offsets": [start, end]}


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_for_the_disk():
    """Hundreds of small files need not survive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def refuses(tmp_path):
    """Check that a file with some content is refused, and get the message."""

    def refuse(content: bytes, match: str = ".") -> str:
        path = tmp_path / "suspect"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=match) as caught:
            load_model(path, find_model)
        assert "suspect" in str(caught.value)
        return str(caught.value)

    return refuse


# Round trips.

characters = st.characters(exclude_categories=())
dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
shapes = hnp.array_shapes(min_dims=0, min_side=0, max_side=4)
arrays = hnp.arrays(dtypes, shapes)
strings = st.builds(
    lambda array, width: array.astype(f"U{width}"),
    hnp.arrays(np.dtype(object), shapes, elements=st.text(characters), fill=st.nothing()),
    st.integers(1, 6),
)
objects = hnp.arrays(
    np.dtype(object), shapes, elements=st.none() | st.text(characters), fill=st.nothing()
)
scalars = st.one_of(
    hnp.arrays(dtypes.map(lambda d: d.newbyteorder("=")), (1,)).map(lambda a: a[0]),
    st.text(characters).map(np.str_),
)
plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(),
    st.text(characters),
)  # fmt: skip
values = st.recursive(
    st.one_of(plain, st.binary(), scalars, arrays, strings, objects),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(plain, st.tuples(plain)), inner, max_size=4),
        st.builds(Summary, st.floats(0, 1e300), inner),
    ),
    max_leaves=12,
)


@given(values)
def test_any_value_comes_back_exactly(value):
    assert same(round_trip(value), value)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
        np.arange(24.0).reshape(4, 6)[::-2, 1::2],
        np.arange(24.0).reshape(4, 6).T,
        np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3)),
        np.broadcast_to(np.float32(3), (2, 5)),
        np.array(7.5),
        np.empty((0, 3)),
        np.empty((3, 0), order="F"),
        np.arange(5, dtype=">i4"),
        np.array(["ä", "日本"], dtype=">U4"),
        np.ndarray((3,), "U0"),
        np.array([["a", "b"], ["c", "d"]]).T,
        np.array([], dtype="U5"),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}{value.strides}",
)
def test_layouts(value):
    loaded = round_trip(value)
    assert loaded.dtype == value.dtype
    assert loaded.shape == value.shape
    np.testing.assert_array_equal(loaded, value)
    if value.flags.f_contiguous and value.dtype.kind != "U":
        assert loaded.flags.f_contiguous


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        -(10**5000),
        2**63,
        -(2**63),
        -0.0,
        5e-324,
        float("nan"),
        float("-inf"),
        "\ud83d\ude00",  # two lone surrogates, which are not one emoji
        "a\0b",
        b"",
        b"\0\xff" * 1000,
        {0: 1.0, 1: 2.5, (None, "a"): [], np.int64(3): {}},
        MappingProxyType({"digits": 13.8}),
        np.float64("nan"),
        np.bool_(True),
        np.str_("é\ud800"),
        {float("nan"): np.zeros(2), -float("nan"): np.ones(2)},
        slice(None),
        slice("größe", None),
        slice(2**70, -5, np.int64(2)),
        range(5),
        range(2**70, -(2**70), -3),
        [object, bool, int, float, str, np.number, np.floating, np.int8, np.object_],
        [("scale", np.ones(2)), ("scale", np.zeros(2)), ("a", 1, [np.ones(1)])],
    ],
    ids=lambda value: ascii(value)[:20] if type(value) is not int else str(value.bit_length()),
)
def test_awkward_values(value):
    loaded = round_trip(value)
    assert same(loaded, value)


@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked_array([1.5, np.nan, -0.0], mask=[True, False, False]),
        np.ma.masked_array(np.arange(6, dtype=np.int8).reshape(2, 3), fill_value=7),
        np.ma.masked_array(["a", None, 3], mask=[False, True, False], dtype=object),
        np.ma.masked_array(["a", "bcd"], mask=[False, True]),
        np.ma.masked_array([], dtype=bool),
    ],
    ids=lambda value: str(value.dtype),
)
def test_masked_arrays(value, tmp_path):
    save_model(Line(alpha=value), tmp_path / "model")
    loaded = load_model(tmp_path / "model").alpha
    assert type(loaded) is np.ma.MaskedArray
    assert same(loaded.data, value.data)
    assert same(loaded.mask, np.ma.getmaskarray(value))
    assert same(loaded.fill_value, value.fill_value)


def test_object_arrays_hold_any_storable_value():
    value = np.empty((2, 2), dtype=object)
    value[0, 0], value[0, 1], value[1, 0], value[1, 1] = (
        np.arange(3),
        [1],
        np.str_("x"),
        float("nan"),
    )
    assert same(round_trip(value), value)


def test_ten_thousand_labels():
    words = [f"класс {i} {'é' * (i % 7)}" for i in range(10_000)]
    for labels in (np.array(words), np.array([*words[1:], None], dtype=object)):
        assert same(round_trip(labels), labels)


def test_one_long_string_among_many_short_ones():
    labels = np.array(["x" * 5000, *["\U0001f600"] * 999])
    assert same(round_trip(labels), labels)
    assert same(round_trip(labels.astype(">U5000")), labels.astype(">U5000"))


def test_memory_mapped_arrays_become_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "data", dtype=np.float64, shape=(3, 2), mode="w+")
    loaded = round_trip(mapped)
    assert type(loaded) is np.ndarray
    assert loaded.shape == (3, 2)


def test_model(tmp_path):
    model = small_model()
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is Line
    assert same(loaded, model)
    assert loaded.statistics_.root == 2.0
    loaded.coef_[0, 0] = 9  # owned and writable
    assert model.coef_[0, 0] == 0


def test_nested_models_from_register_and_lookup(tmp_path):
    model = Committee(member=Line(alpha=2))
    model.estimators_ = [small_model(), small_model()]
    model.estimators_[1].coef_ = np.ones(3)
    save_model(model, str(tmp_path / "model"), find_model)
    loaded = load_model(str(tmp_path / "model"), find_model)
    assert same(loaded, model)
    with pytest.raises(ValueError, match="'Committee', which is no model known here"):
        load_model(tmp_path / "model")


def test_the_librarys_own_models_need_no_lookup_to_be_saved(tmp_path):
    own = type("Own", (Line,), {"__module__": "suffice.linear.own"})
    save_model(own(alpha=own(alpha=2)), tmp_path / "model")
    loaded = load_model(tmp_path / "model", {"Own": own}.get)
    assert type(loaded) is own
    assert type(loaded.alpha) is own
    with pytest.raises(TypeError, match="Own is not one of the models"):
        save_model(own(), tmp_path / "other", {"Own": Line}.get)


def test_private_and_cached_attributes(tmp_path):
    model = Child()
    model.coef_, model._hidden, model._extra, model._cache = np.ones(2), 1, 2, 3
    assert model.slow_ == 2.0
    save_model(model, tmp_path / "model", find_model)
    loaded = load_model(tmp_path / "model", find_model)
    assert set(vars(loaded)) == {"alpha", "options", "coef_", "_hidden", "_extra"}
    assert loaded.slow_ == 2.0


# The file.


def test_other_readers_open_the_file(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import load_file

    model, path = small_model(), tmp_path / "model.safetensors"
    model.empty_, model.zero_, model.flags_ = np.empty((0, 2)), np.array(3), np.array([True])
    model.half_, model.across_ = np.ones(3, np.float16), np.arange(6.0).reshape(2, 3).T
    save_model(model, path)
    tensors = load_file(path)
    for name in ("coef_", "empty_", "zero_", "flags_", "half_", "across_"):
        assert tensors[name].dtype == getattr(model, name).dtype
        np.testing.assert_array_equal(tensors[name], getattr(model, name))
    assert tensors["statistics_.mean"].shape == (3,)
    assert tensors["feature_names_in_:utf8"].tobytes().decode() == "größegewicht"
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    assert metadata["format"] == "suffice-model"
    assert metadata["format_version"] == "2"
    assert metadata["model"] == "Line"
    assert metadata["library_version"]


def test_same_model_same_bytes_and_digest_of_the_whole_file(tmp_path):
    save_model(small_model(), tmp_path / "a")
    save_model(load_model(tmp_path / "a"), tmp_path / "b")
    content = (tmp_path / "a").read_bytes()
    assert content == (tmp_path / "b").read_bytes()
    digest = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"][
        "sha256"
    ].encode()
    assert content.count(digest) == 1
    assert hashlib.sha256(content.replace(digest, b"0" * 64)).hexdigest().encode() == digest


def test_the_forger_of_these_tests_can_write_a_valid_file(tmp_path):
    entries = {"coef_": tensor("F64", [1], 0, 8)}
    tree = line({"coef_": {"array": ["coef_", "C", "="]}}, {"alpha": 3})
    (tmp_path / "model").write_bytes(forged(tree, entries, bytes(8)))
    loaded = load_model(tmp_path / "model")
    assert loaded.alpha == 3
    assert same(loaded.coef_, np.zeros(1))


# What cannot be saved.

Pair = namedtuple("Pair", "a b")


class Masked(np.ma.MaskedArray):
    pass


itself: list[Any] = []
itself.append(itself)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.zeros(2, complex), "complex128"),
        (np.complex128(1), "complex128"),
        (np.longdouble(1), "longdouble"),
        (np.zeros(2, "S3"), "S3"),
        (np.zeros(2, "i4,f8"), "dtype"),
        (Masked([1, 2]), "Masked"),
        (np.ma.masked_array([1j]), "complex128"),
        (1j, "complex"),
        ({1, 2}, "set"),
        (Pair(1, 2), "Pair"),
        (OrderedDict(), "OrderedDict"),
        ({b"key": 1}, "key of type bytes"),
        (len, "builtin_function_or_method"),
        (complex, "type are not supported; a file holds no code"),
        (slice(0, complex(1)), "complex"),
        (Unregistered(), "Unregistered is not registered"),
        (Committee(), "Committee is not one of the models"),
        (ForeignModel(), "Ridge is not one of the models"),
        (np.random.default_rng(0), "Generator"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_unsupported_types_are_named_before_a_file_is_touched(tmp_path, value, match):
    path = tmp_path / "model"
    model = small_model()
    save_model(model, path)
    before = path.read_bytes()
    model.alpha = {"deep": [0, (value,)]}
    with pytest.raises(TypeError, match=match) as caught:
        save_model(model, path)
    assert "alpha['deep'][1][0]" in str(caught.value)
    model.alpha, model.learned_ = 1.0, [value]
    with pytest.raises(TypeError, match=r"learned_\[0\]"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["predict", "kind", "not a name", "__dict_"])
def test_attributes_that_could_not_be_loaded_are_not_saved(tmp_path, name):
    model = Line()
    vars(model)[name] = 1
    if name.startswith("_"):
        save_model(model, tmp_path / "model")
        assert name not in vars(load_model(tmp_path / "model"))
    else:
        with pytest.raises(TypeError, match=name):
            save_model(model, tmp_path / "model")


def test_unknown_models_and_things_that_are_none(tmp_path):
    with pytest.raises(TypeError, match="Child is not one of the models"):
        save_model(Child(), tmp_path / "model")
    with pytest.raises(TypeError, match="not a model"):
        save_model([1, 2], tmp_path / "model")

    class Line(BaseEstimator):  # another class of a known name
        pass

    with pytest.raises(TypeError, match="Line is not one of the models"):
        save_model(Line(), tmp_path / "model", find_model)
    assert os.listdir(tmp_path) == []


def test_what_nests_too_deeply(tmp_path):
    with pytest.raises(ValueError, match="100 levels"):
        save_model(Line(alpha=itself), tmp_path / "model")
    deep: Any = 0
    for _ in range(90):
        deep = [deep]
    assert same(round_trip(deep), deep)


def test_too_long_a_header(tmp_path, monkeypatch):
    monkeypatch.setattr(tensorfile, "LONGEST_HEADER", 10_000)
    with pytest.raises(ValueError, match="as arrays"):
        save_model(Line(alpha="x" * 10_000), tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_registers_refuse_what_they_could_not_rebuild():
    @dataclass
    class Mutable:
        a: int = 0

    @dataclass(frozen=True)
    class Extra:
        a: InitVar[int] = 0

    class Inherits(Summary):
        pass

    for cls in (Mutable, Inherits, int):
        with pytest.raises(TypeError, match="not a frozen dataclass"):
            register(cls)
    with pytest.raises(TypeError, match="also takes"):
        register(Extra)
    with pytest.raises(TypeError, match="get_params"):
        register_model(int)
    with pytest.raises(ValueError, match="already the name"):
        register(Unregistered, "test-summary")
    assert register(Summary, "test-summary") is Summary


# Damage.


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "model"
    save_model(small_model(), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> bytes:
    model, path = small_model(), tmp_path_factory.mktemp("large") / "model"
    model.coef_ = np.random.default_rng(0).normal(size=(100, 300))
    save_model(model, path)
    return path.read_bytes()


def header_end(content: bytes) -> int:
    return 8 + int.from_bytes(content[:8], "little")


def flipped(content: bytes, at: int, mask: int) -> bytes:
    return content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :]


def test_cut_anywhere(refuses, saved, large):
    for length in (*range(100), *range(100, len(saved), 7)):
        refuses(saved[:length])
    for length in range(0, len(large), 10_000):
        refuses(large[:length])
    refuses(large[:-1])


def test_bytes_appended_or_inserted(refuses, saved):
    refuses(saved + b"\0")
    refuses(saved + saved)
    refuses(saved[: header_end(saved)] + b" " * 8 + saved[header_end(saved) :])


def test_every_byte_of_the_header_flipped(refuses, saved):
    for at, mask in zip(range(header_end(saved)), itertools.cycle([0x01, 0x20, 0xFF, 0x80])):
        refuses(flipped(saved, at, mask))


def test_bytes_of_data_flipped(refuses, large):
    dice = random.Random(0)
    for _ in range(200):
        at = dice.randrange(header_end(large), len(large))
        refuses(flipped(large, at, dice.randrange(1, 256)))


def test_zeroed_and_exchanged_parts(refuses, large):
    end = header_end(large)
    refuses(large[:-4096] + bytes(4096), "altered")
    refuses(
        large[:end] + large[end + 4096 : end + 8192] + large[end : end + 4096] + large[end + 8192 :]
    )


# Files of another kind.


class Trap:
    def __reduce__(self) -> Any:
        return sys.exit, ("a pickle was loaded",)


@pytest.mark.parametrize("protocol", range(6))
def test_pickles(refuses, tmp_path, protocol):
    trap = pickle.dumps(Trap(), protocol)
    refuses(trap, "a pickle" if protocol > 1 else "another kind")
    refuses(pickle.dumps([Trap()] * 10_000, protocol))
    entries = {"coef_": tensor("U8", [len(trap)], 0, len(trap))}
    (tmp_path / "model").write_bytes(forged(line({"coef_": {"bytes": "coef_"}}), entries, trap))
    assert load_model(tmp_path / "model").coef_ == trap  # bytes like any others


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "empty"),
        (b"{}", "JSON"),
        (b'[{"model": "Line", "params": {}}]', "JSON"),
        (b'{"model":{"class": "Line"}}', "JSON"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "numpy"),
        (b"alpha,beta\n1,2\n", "another kind"),
        (bytes(8), "another kind"),
        (bytes(8) + b"{}", "another kind"),
        (b"\x02" + bytes(7) + b"{}", "not a model saved by suffice"),
        (b"\x02" + bytes(7) + b"{]", "JSON is damaged"),
        (b"\x04" + bytes(7) + b"{\xff\xfe}", "JSON is damaged"),
        ((LONGEST_HEADER + 1).to_bytes(8, "little") + b"{}", "not a saved model"),
        ((1000).to_bytes(8, "little") + b"{}", "cut short"),
    ],
)
def test_other_files(refuses, content, match):
    refuses(content, match)


def test_safetensors_of_others(refuses):
    from safetensors.numpy import save

    refuses(save({"weight": np.ones(3)}), "not a model saved by suffice")
    refuses(save({"weight": np.ones(3)}, {"format": "pt"}), "not a model saved by suffice")
    refuses(save({}, METADATA | {"tree": json.dumps(line())}))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
    with pytest.raises(TypeError):
        load_model(0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_regular_file_is_neither_read_nor_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        load_model(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular"):
        save_model(Line(), tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# Forged files with a valid digest.


def test_newer_and_strange_versions(refuses):
    message = refuses(forged(line(), format_version="12", library_version="7.1"), "version 12")
    assert "suffice 7.1" in message
    assert "reads format version 2" in message
    for version in ("", "0", "-1", "1.0", "x", "²", "1" * 5000):
        refuses(forged(line(), format_version=version), "version|metadata")


@pytest.mark.parametrize(
    "entry",
    [
        tensor("F64", [3], 0, 16),
        tensor("F64", [1], 0, 16),
        tensor("F32", [2], 0, 16),
        tensor("F64", [2], 8, 24),
        tensor("F64", [2], -16, 0),
        tensor("F64", [-2], 0, 16),
        tensor("F64", [-1, -2], 0, 16),
        tensor("F64", [2.0], 0, 16),
        tensor("F64", [True, 2], 0, 16),
        tensor("F64", ["2"], 0, 16),
        tensor("F64", [2**40], 0, 2**43),
        tensor("F64", [2**40], 0, 16),
        tensor("F64", [2**61], 0, 0),
        tensor("F64", [2**32, 2**32], 0, 16),
        tensor("F64", [0, 2**62, 2**62], 0, 0),
        tensor("F64", [2**70], 0, 16),
        tensor("F64", [1] * 65 + [2], 0, 16),
        tensor("F64", [1] * 100_000 + [2], 0, 16),
        tensor("F64", [2**62] * 20_000, 0, 16),
        tensor("F64", [2], 0, 10**30),
        tensor("C128", [1], 0, 16),
        tensor("O", [2], 0, 16),
        tensor("BF16", [8], 0, 16),
        {"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": 2, "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [2], "data_offsets": "0, 16"},
        {"dtype": "F64", "shape": [2]},
        tensor("F64", [2], 0, 16) | {"strides": [8]},
        [],
        None,
    ],
    ids=lambda entry: str(entry)[:60],
)
def test_lying_shapes_cost_no_memory(refuses, entry):
    content = forged(line({"coef_": {"array": ["coef_", "C", "="]}}), {"coef_": entry}, b"\7" * 16)
    tracemalloc.start()
    try:
        refuses(content)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_overlapping_repeated_and_unused_tensors(refuses):
    two = {"a": tensor("F64", [1], 0, 8), "b": tensor("F64", [1], 0, 8)}
    refuses(forged(line(), two, bytes(8)), "place")
    one, node = {"a": tensor("F64", [1], 0, 8)}, {"array": ["a", "C", "="]}
    refuses(forged(line({"x_": [node, node]}), one, bytes(8)), "used twice")
    refuses(forged(line(), one, bytes(8)), "nothing in it uses")
    refuses(forged(line({"x_": {"array": ["b", "C", "="]}}), one, bytes(8)), "missing")
    refuses(forged(line({"x_": {"array": [["a"], "C", "="]}}), one, bytes(8)), "missing")
    bad = {"a": tensor("BOOL", [2], 0, 2)}
    refuses(forged(line({"x_": node}), bad, b"\1\2"), "booleans")


def test_headers_with_tricks(refuses):
    text = json.dumps({"__metadata__": METADATA | {"tree": json.dumps(line())}})
    for trick, match in [
        (text[:-1] + ', "__metadata__": {}}', "key twice"),
        (text[:-1] + ', "a": NaN}', "number NaN"),
        (text[:-1] + ', "a": 1e999}', "number 1e999"),
        (text[:-1] + f', "a": {"9" * 10**6}}}', "too long"),
        (text[:-1] + f', "a": {"[" * 10**6}', "nested|damaged"),
        (text[:-1] + f', "a": {"[" * 10**5}{"]" * 10**5}}}', "nested"),
        (text[:-1] + f', "a": {chr(123) + chr(34) + "b" + chr(34) + ":"}1}}}}', "damaged"),
        ('{"__metadata__": []}', "metadata"),
        ('{"__metadata__": {"format": 1}}', "metadata"),
        ('{"__metadata__": {"format": "suffice-model"}}', "version"),
        (text, "begin with its SHA-256"),
    ]:
        refuses(sign(trick.encode()), match)


@pytest.mark.parametrize(
    "name",
    [
        "predict", "get_params", "kind", "slow_", "__class__", "__dict__", "__init__", "_private",
        "_saved_private", "__sklearn_tags__", "alpha", "", "a b", "a.b", "1a", "x\0", "_Line__x",
    ],
)  # fmt: skip
def test_names_that_attributes_must_not_have(refuses, name):
    refuses(forged(line({name: 1})), "cannot have")


def test_parameters_and_classes_that_do_not_exist(refuses):
    refuses(forged(line(params={"beta": 1})), "Line has no parameter 'beta'")
    refuses(forged(line(params={"self": 1})), "Line has no parameter 'self'")
    for name in ("Nothing", "os.system", "__import__", "BaseEstimator", "", "eval"):
        refuses(forged(line(name=name), model=name), "no model known here")
    refuses(forged(line(), model="Child"), "another model")
    refuses(forged(line(name="Picky", params={"alpha": -1}), model="Picky"), "must not be negative")
    refuses(forged(line(name="Picky", params={"alpha": "x"}), model="Picky"), "does not accept")


@pytest.mark.parametrize(
    "record",
    [
        {"class": "test-summary", "fields": {"weight": -1.0}},
        {"class": "test-summary", "fields": {}},
        {"class": "test-summary", "fields": {"weight": 1.0, "root": 5.0}},
        {"class": "test-summary", "fields": {"weight": 1.0, "other": 5.0}},
        {"class": "test-summary", "fields": []},
        {"class": "test-summary"},
        {"class": "Unregistered", "fields": {}},
        {"class": ["test-summary"], "fields": {}},
        None,
    ],
)
def test_forged_records(refuses, record):
    refuses(forged(line({"x_": {"record": record}})))


@pytest.mark.parametrize(
    "node",
    [
        {}, {"tuple": 1}, {"tuple": [], "dict": []}, {"set": []}, {"model": None},
        {"int": "0x1f"}, {"int": "1_0"}, {"int": 5}, {"int": ""}, {"int": "٣"},
        {"float": "00"}, {"float": 1.0}, {"float": "zz" * 8}, {"str": "ff"}, {"str": "f"},
        {"str": None}, {"bytes": "none"}, {"bytes": 3}, {"dict": {"a": 1}}, {"dict": [["a"]]},
        {"dict": [["a", 1], ["a", 2]]}, {"dict": [[[], 1]]}, {"dict": [[{"dict": []}, 1]]},
        {"dict": [[1, 1], [True, 2]]}, {"mapping": 3}, {"scalar": ["f8", "00"]}, {"scalar": "f8"},
        {"scalar": ["O", "00" * 8]}, {"scalar": ["b1", "02"]}, {"scalar": [[], "00"]},
        {"array": "t"}, {"array": ["t", "K", "="]}, {"array": ["t", "C", "!"]},
        {"array": ["t", "C", []]}, {"text": {"shape": [1]}}, {"text": None},
        {"objects": {"shape": [2], "items": [1]}}, {"objects": {"shape": [1]}},
        {"objects": {"shape": [2**62] * 64, "items": []}},
        {"objects": {"shape": [0, 2**62, 2**62], "items": []}},
        {"objects": {"shape": None, "items": []}},
        {"number": "complex"}, {"number": "type"}, {"number": ["object"]}, {"number": "eval"},
        {"slice": [0, 1]}, {"slice": 3}, {"slice": [[], 1, 1]},
        {"slice": [{"number": "int"}, 1, 1]},
        {"range": [0, 1, 0]}, {"range": [0, 1.0, 1]}, {"range": [0, True, 1]}, {"range": None},
        {"masked": [1, 2]}, {"masked": [1, 2, 3]}, {"masked": [{"array": ["t", "C", "="]}, 1, 2]},
        {"masked": [{"array": ["t", "C", "="]}, {"array": ["t", "C", "="]}, 0.0]},
        {"record": {"class": "sklearn.KFold", "fields": {"n_splits": -3}}},
        {"record": {"class": "sklearn.KFold", "fields": {"n_splits": 3, "other": 1}}},
        {"record": {"class": "KFold", "fields": {"n_splits": 3}}},
        {"record": {"class": "sklearn.Pipeline", "fields": {"steps": []}}},
        {"model": {"class": "sklearn.KFold", "params": {}, "attributes": {}}},
        {"model": {"class": "sklearn.Ridge", "params": {}, "attributes": {}}},
        {"model": {"class": "sklearn.Pipeline", "params": {"steps": []}, "attributes": {}}},
    ],
    ids=lambda node: str(node)[:40],
)  # fmt: skip
def test_forged_nodes(refuses, node):
    entries = {"t": tensor("F64", [1], 0, 8)}
    refuses(forged(line({"x_": node}), entries, bytes(8)))


@pytest.mark.parametrize(
    ("members", "offsets", "utf8"),
    [
        ({}, [0, 1, 2], b"ab"),
        ({}, [0, 1, 2, 9], b"abc"),
        ({}, [1, 1, 2, 3], b"abc"),
        ({}, [0, 5, 2, 3], b"abc"),
        ({}, [0, -1, 2, 3], b"abc"),
        ({}, [0, 1, 2, 3], b"ab\xff"),
        ({"width": 0, "endianness": "="}, [0, 1, 2, 3], b"abc"),
        ({"width": 2**28, "endianness": "="}, [0, 1, 2, 3], b"abc"),
        ({"width": 2**40, "endianness": "="}, [0, 1, 2, 3], b"abc"),
        ({"width": -1, "endianness": "="}, [0, 1, 2, 3], b"abc"),
        ({"width": True, "endianness": "="}, [0, 1, 2, 3], b"abc"),
        ({"width": 2}, [0, 1, 2, 3], b"abc"),
        ({"width": 2, "endianness": "=", "ucs4": "utf8"}, [0, 1, 2, 3], b"abc"),
        ({"width": 2, "endianness": "=", "missing": "x"}, [0, 1, 2, 3], b"abc"),
        ({"missing": "offsets"}, [0, 1, 2, 3], b"abc"),
        ({"shape": [2**62, 2**62]}, [0, 1, 2, 3], b"abc"),
        ({"shape": []}, [0, 1, 2, 3], b"abc"),
        ({"other": 1}, [0, 1, 2, 3], b"abc"),
    ],
)
def test_forged_strings(refuses, members, offsets, utf8):
    node = {"shape": [3], "utf8": "utf8", "offsets": "offsets"} | members
    data = np.array(offsets, "<i8").tobytes()
    entries = {
        "offsets": tensor("I64", [len(offsets)], 0, len(data)),
        "utf8": tensor("U8", [len(utf8)], len(data), len(data) + len(utf8)),
    }
    tracemalloc.start()
    try:
        refuses(forged(line({"x_": {"text": node}}), entries, data + utf8))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_forged_wide_strings(refuses):
    def wide(codes: list[int], width: int, shape: list[int]) -> bytes:
        node = {"shape": shape, "width": width, "endianness": "=", "ucs4": "t"}
        data = np.array(codes, "<u4").tobytes()
        return forged(
            line({"x_": {"text": node}}), {"t": tensor("U32", [len(codes)], 0, len(data))}, data
        )

    refuses(wide([65, 66], 2, [2]), "damaged")
    refuses(wide([65, 2**31], 2, [1]), "damaged")
    refuses(wide([], 0, [5]), "damaged")


def test_deep_trees(refuses):
    refuses(forged("[" * 10**6), "nested|damaged")
    refuses(forged("[" * 10**5 + "]" * 10**5), "nested")
    nested = '{"tuple":[' * 500 + "]}" * 500
    tree = json.dumps(line({"x_": 0})).replace('"x_": 0', f'"x_": {nested}')
    refuses(forged(tree), "nested")
    for tree in ("", "null", "{}", "[]", '{"tuple": []}', "NaN", "9" * 10**6, '"' + "\\ud800" * 9):
        refuses(forged(tree))


def test_altered_trees_never_do_more_than_raise_value_errors(tmp_path):
    """Exchange random parts of a valid tree, with a valid digest."""
    from suffice.fitting.files.encoding import Encoder

    model = small_model()
    model.mixed_ = [b"x", {1: (2.5, None)}, np.str_("s"), np.int8(3), np.array([1, None], object)]
    model.inner_ = Line(alpha=10**40)
    encoder, dice, path = Encoder(), random.Random(1), tmp_path / "model"
    tree = json.dumps(encoder.encode(model, ""))

    def nodes(node: Any) -> list[Any]:
        inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [node, *(found for child in inside for found in nodes(child))]

    refused = 0
    for _ in range(500):
        changed = json.loads(tree)
        everything = nodes(changed)
        place = dice.choice([node for node in everything if isinstance(node, dict | list) and node])
        key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
        match dice.randrange(4):
            case 0:
                place[key] = json.loads(json.dumps(dice.choice(everything)))
            case 1:
                place[key] = dice.choice(
                    [None, -1, 2**62, 0.5, "", "coef_", "=", [], {}, [[]], True]
                )
            case 2:
                del place[key]
            case _ if isinstance(place, dict):
                place[dice.choice(["tuple", "dict", "coef_", "predict", "class"])] = place.pop(key)
        metadata = {k: v for k, v in METADATA.items() if k != "sha256"}
        buffers = pack(encoder.tensors, metadata | {"tree": json.dumps(changed)})
        path.write_bytes(b"".join(buffers))
        try:
            loaded = load_model(path)
        except ValueError:
            refused += 1
        else:
            assert type(loaded) is Line
            assert loaded.predict.__func__ is Line.predict
    assert refused > 200


# Writing whole files or none.


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
@pytest.mark.parametrize("step", ["write", "fsync", "replace", "chmod", "open"])
def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch, step, failure):
    path = tmp_path / "model"
    save_model(small_model(), path)
    before = path.read_bytes()

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise failure

    class FullDisk:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.file = open(*args, **kwargs)  # noqa: SIM115

        def __enter__(self) -> FullDisk:
            return self

        def __exit__(self, *exception: object) -> None:
            self.file.close()

        def write(self, content: bytes) -> None:
            self.file.write(content[:100])
            raise failure

    if step == "write":
        monkeypatch.setattr(storage, "open", FullDisk, raising=False)
    elif step == "open":
        monkeypatch.setattr(storage, "open", fail, raising=False)
    else:
        monkeypatch.setattr(os, step, fail)
    for target in (path, tmp_path / "new"):
        if step == "chmod" and target != path:
            continue  # a new file gets its mode when it is made
        with pytest.raises(type(failure)):
            save_model(Line(alpha=9), target)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_interrupted_at_every_instruction(tmp_path):
    """An interrupt before any one bytecode instruction of the writer."""
    path = tmp_path / "model"
    save_model(Line(alpha=0), path)
    old = path.read_bytes()
    save_model(Line(alpha=1), path)
    new = path.read_bytes()

    def save_interrupted(moment: int) -> bool:
        """Save, raising at some moment; False if saving was done before."""
        passed = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal passed
            if frame.f_code.co_filename != storage.__file__:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                passed += 1
                if passed == moment:
                    raise KeyboardInterrupt
            return trace

        previous = sys.gettrace()
        sys.settrace(trace)
        try:
            save_model(Line(alpha=1), path)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(previous)
        return False

    path.write_bytes(old)
    moment, outcomes = 1, set()
    while save_interrupted(moment):
        content = path.read_bytes()
        assert content in (old, new)
        assert os.listdir(tmp_path) == ["model"]
        outcomes.add(content == new)
        path.write_bytes(old)
        moment += 1
    assert moment > 100
    assert outcomes == {True, False}


def test_content_reaches_the_disk_before_the_name(tmp_path, monkeypatch):
    path, replace, calls = tmp_path / "model", os.replace, []

    def noting_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        calls.append("folder" if stat.S_ISDIR(status.st_mode) else status.st_size)

    def noting_replace(old: str, new: str) -> None:
        calls.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    save_model(small_model(), path)
    assert calls == [path.stat().st_size, "replace", "folder"]


def test_threads_saving_to_one_path(tmp_path):
    path = tmp_path / "model"
    models = [Line(alpha=i) for i in range(6)]
    for i, model in enumerate(models):
        model.coef_ = np.full((50, 50), float(i))
    save_model(models[0], path)
    errors, done = [], threading.Event()

    def write(model: Line) -> None:
        try:
            for _ in range(15):
                save_model(model, path)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    def read() -> None:
        try:
            while not done.is_set():
                loaded = load_model(path)
                assert np.all(loaded.coef_ == loaded.alpha)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(model,)) for model in models]
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert errors == []
    assert os.listdir(tmp_path) == ["model"]
    assert load_model(path).alpha in range(6)


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
def test_permissions(tmp_path, monkeypatch):
    path = tmp_path / "model"
    before, chmod, modes = os.umask(0o027), os.chmod, []

    def noting_chmod(name: str, mode: int) -> None:
        modes.append(stat.S_IMODE(os.stat(name).st_mode))
        chmod(name, mode)

    try:
        save_model(Line(), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        monkeypatch.setattr(os, "chmod", noting_chmod)
        save_model(Line(), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
        assert modes == [0o600]  # nobody reads it before it has the old file's mode
    finally:
        os.umask(before)


def test_read_only_files_stay(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save_model(Line(alpha=1), path)
    monkeypatch.setattr(os, "access", lambda *args, **kwargs: False)  # root may write anything
    with pytest.raises(PermissionError, match="model"):
        save_model(Line(alpha=2), path)
    assert load_model(path).alpha == 1


def test_symbolic_links_are_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "link", tmp_path / "real" / "model"
    link.symlink_to(Path("real", "model"))
    for alpha in (1, 2):  # first the link dangles, then it does not
        save_model(Line(alpha=alpha), link)
        assert link.is_symlink()
        assert not real.is_symlink()
        assert load_model(real).alpha == alpha
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert os.listdir(tmp_path / "real") == ["model"]
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match="symbolic links"):
        save_model(Line(), circle)


def test_paths_are_used_as_open_uses_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(Line(alpha=3), "~")
    assert load_model(tmp_path / "~").alpha == 3
    for path, error in [
        ("missing/model", FileNotFoundError),
        ("missing/../model", FileNotFoundError),
        ("~/model", NotADirectoryError),
        ("", FileNotFoundError),
        (".", IsADirectoryError),
        ("new/", IsADirectoryError),
        ("a\0b", ValueError),
        (7, TypeError),
    ]:
        with pytest.raises(error):
            save_model(Line(), path)
    assert os.listdir(tmp_path) == ["~"]
    name = "n" * 255
    save_model(Line(), name)
    assert load_model(name).alpha == 1.0


# Notes beside the model.

json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63) + 1, 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_notes_come_back_as_they_were(notes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        save_model(small_model(), path, notes=notes)
        assert same(read_notes(path), notes)
        assert same(load_model(path), small_model())


def test_files_without_notes(tmp_path):
    save_model(small_model(), tmp_path / "model")
    assert read_notes(tmp_path / "model") == {}


@pytest.mark.parametrize(
    ("notes", "error", "match"),
    [
        ([], TypeError, "must be a dict of JSON values, not list"),
        ("text", TypeError, "not str"),
        ({"a": {"b": [0, (1,)]}}, TypeError, r"notes\['a'\]\['b'\]\[1\] is of type tuple"),
        ({"a": np.float64(1)}, TypeError, "float64"),
        ({"a": {1: 2}}, TypeError, "key of type int"),
        ({"a": float("nan")}, ValueError, "number"),
        ({"a": [float("inf")]}, ValueError, r"notes\['a'\]\[0\]"),
        ({"a": 2**63}, ValueError, "number"),
        ({"a": "\ud800"}, ValueError, "no Unicode text"),
        ({"\ud800": 1}, ValueError, "no Unicode text"),
        ({"a": itself}, ValueError, "100 levels"),
        ({"a": {1, 2}}, TypeError, "set"),
    ],
)
def test_notes_that_json_would_change_are_refused_before_a_file_is_touched(
    tmp_path, notes, error, match
):
    with pytest.raises(error, match=match):
        save_model(small_model(), tmp_path / "model", notes=notes)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "1", '"text"', '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}', "[" * 10**5, '{"a": ' * 200 + "1" + "}" * 200,
        '{"a": 99999999999999999999}',
    ],
)  # fmt: skip
def test_damaged_notes(tmp_path, text):
    path = tmp_path / "suspect"
    path.write_bytes(forged(line(), notes=text))
    with pytest.raises(ValueError, match=r"suspect.*(notes|JSON)"):
        read_notes(path)
    assert type(load_model(path)) is Line  # which reads no notes


def test_notes_of_damaged_files_are_not_believed(tmp_path, saved):
    path = tmp_path / "suspect"
    for content in (saved[:-1], saved + b"\0", flipped(saved, len(saved) - 1, 1), b"", b"{}"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="suspect"):
            read_notes(path)
    with pytest.raises(FileNotFoundError):
        read_notes(tmp_path / "nowhere")
