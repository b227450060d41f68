"""What files may hold: the classes that loading can build, and the names it can set.

A file names classes; these registers say which class a name stands for.  Nothing is
looked up anywhere else, so a file cannot reach a class that was not meant for files.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from suffice.fitting.files import scikit_learn

FindModel = Callable[[str], type | None]
"""From the name of a model's class to the class, or None if there is no such model."""

Class = TypeVar("Class", bound=type)

_NOTHING = object()
_PACKAGE = __name__.partition(".")[0]
_RECORDS: dict[str, type] = {}
_MODELS: dict[str, type] = {}


def register(cls: Class, name: str | None = None) -> Class:
    """Let instances of a frozen dataclass be saved with models.

    Loading calls the constructor with the saved fields, so its checks run.

    Parameters
    ----------
    cls : type
        A frozen dataclass whose constructor takes its fields and nothing else.
    name : str, default=None
        What files call the class; the class's own name by default. Once there are
        files, it must stay.

    Returns
    -------
    type
        The class itself.
    """
    settings = vars(cls).get("__dataclass_params__")
    if settings is None or not settings.frozen:
        raise TypeError(f"{cls!r} is not a frozen dataclass")
    fields = init_fields(cls)
    if extra := [p for p in inspect.signature(cls).parameters if p not in fields]:
        raise TypeError(f"{cls!r} cannot be rebuilt from its fields: it also takes {extra}")
    _enter(_RECORDS, name or cls.__name__, cls)
    return cls


def storable(name: str) -> Callable[[Class], Class]:
    """`register` as a decorator: ``@storable("moments")`` above ``@dataclass(frozen=True)``."""
    return functools.partial(register, name=name)


def register_model(cls: Class) -> Class:
    """Let models of this class be saved and loaded, under the class's own name.

    Parameters
    ----------
    cls : type
        A class with scikit-learn's `get_params` and constructor conventions.

    Returns
    -------
    type
        The class itself.
    """
    if not is_model_class(cls):
        raise TypeError(f"{cls!r} is not a class of models: it has no get_params")
    _enter(_MODELS, cls.__name__, cls)
    return cls


def find_record(name: str) -> type | None:
    """The registered dataclass of this name, or scikit-learn's class."""
    return _RECORDS.get(name) or scikit_learn.find(name, scikit_learn.VALUES)


def record_name(cls: type) -> str | None:
    """What files call a class of records; None if they hold none of it."""
    if find_record(file_name(cls)) is cls:
        return file_name(cls)
    return next((name for name, known in _RECORDS.items() if known is cls), None)


def find_model_class(name: str, find_model: FindModel | None) -> type | None:
    """The model class of this name, from the registers or else from the caller's lookup."""
    known: type | None = _MODELS.get(name) or scikit_learn.find(name, scikit_learn.MODELS)
    if known is None and find_model is not None and name.isidentifier():
        return find_model(name)
    return known


def file_name(cls: type) -> str:
    """What files call a class of models: its name, after "sklearn." if it is from there."""
    return (scikit_learn.PREFIX if scikit_learn.is_scikit_learns(cls) else "") + cls.__name__


def may_be_saved(cls: type, find_model: FindModel | None) -> bool:
    """Whether a file may hold models of this class.

    It may if its name leads back to it. Without a lookup, the library's own classes
    are taken to be found when the file is loaded.
    """
    known = find_model_class(file_name(cls), find_model)
    if known is None and find_model is None:
        return cls.__module__.partition(".")[0] == _PACKAGE
    return known is cls


def is_model_class(cls: type) -> bool:
    """Whether instances are models, as far as their methods tell."""
    return callable(getattr(cls, "get_params", None))


@functools.lru_cache(maxsize=512)
def init_fields(cls: type) -> tuple[str, ...]:
    """The fields that a record's constructor takes."""
    if not dataclasses.is_dataclass(cls):
        return tuple(sorted(param_names(cls)))
    return tuple(field.name for field in dataclasses.fields(cls) if field.init)


@functools.lru_cache(maxsize=512)
def param_names(cls: type) -> frozenset[str]:
    """The parameters that a model's constructor takes."""
    constructor = _class_attribute(cls, "__init__")
    parameters = list(inspect.signature(constructor).parameters.values())[1:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(p.name for p in parameters if p.kind in named)


@functools.lru_cache(maxsize=512)
def saved_private(cls: type) -> frozenset[str]:
    """The private attributes that a class and its bases list in `_saved_private`."""
    own = frozenset(n for base in cls.__mro__ for n in vars(base).get("_saved_private", ()))
    return own | scikit_learn.listed(cls, scikit_learn.PRIVATE)


def fitted_attributes(model: Any) -> dict[str, Any]:
    """What a model has learned: no parameters, nothing private unless listed, nothing cached."""
    cls = type(model)
    left_out = param_names(cls) | scikit_learn.listed(cls, scikit_learn.DERIVED)  # type: ignore[arg-type]
    return {
        name: value
        for name, value in vars(model).items()
        if name not in left_out
        and (name in saved_private(cls) or not name.startswith("_"))  # type: ignore[arg-type]
        and not isinstance(_class_attribute(cls, name), functools.cached_property)
    }


def attribute_problem(cls: type, name: str) -> str:
    """Why the name is none for a fitted attribute of the class; "" if it is one.

    An attribute set on an instance hides a method of the same name, which is how a
    forged file would try to change what a model does.
    """
    if not name.isidentifier() or name.startswith("__"):
        return "this is not a name for an attribute"
    if name in param_names(cls):
        return "this is a parameter"
    if name in saved_private(cls):
        return ""
    if name.startswith("_"):
        return "private attributes are not stored"
    if _class_attribute(cls, name) is not _NOTHING:
        return "the class itself has an attribute of this name"
    return ""


def _class_attribute(cls: type, name: str) -> Any:
    """The attribute as the class holds it, without running a descriptor."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), _NOTHING)


def _enter(register: dict[str, type], name: str, cls: type) -> None:
    known = register.get(name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{name!r} is already the name of {known!r}")
    register[name] = cls  # anew when a module is reloaded
