"""The decorator that turns a function on arrays into a compiled kernel.

    @kernel("const float64[:, ::1], const float64[::1], float64[::1]")
    def product(A, x, out): ...

The text lists the types of the arguments, all arrays in C order. ``const`` marks an array that is
only read. numba compiles such an argument as read-only, and then takes writable and read-only
arrays alike (pandas and Arrow hand out the latter) with **one** compiled function; without it a
read-only array is refused. A kernel with several signatures is compiled for each of them, and one
that is called with anything else raises TypeError instead of compiling once more.

``@kernel`` alone is for small functions on numbers that other kernels call: they are compiled for
whatever their callers pass, and end up inlined in the callers.

What holds for every kernel:

* **Lazy.** Decorating costs nothing and imports no numba; both happen at the first call. A kernel
  calls other kernels by their plain names, from any module, and they too are compiled only then.
* **Plain IEEE arithmetic.** No fastmath and no contraction to fused multiply-adds: the compiled
  function computes each operation as written, bit for bit what Python computes. Division by
  zero gives infinity or NaN, as in NumPy. No threads inside: ``nogil``, so that the caller's run.
  ``any_order=True`` is the one exception, for sums whose error is bounded in whatever order they
  are added: the compiler may then add in lanes and fuse a product with a sum, as BLAS does.
* **References are counted**, for each array at each call of a kernel from a kernel that is not
  inlined, by an atomic instruction. ``allocates=False`` leaves that out, in all that the kernel
  calls, unless that says ``allocates=True``: no arrays are made then. Of the growth of a forest the
  counting took half of the time.
* **Debuggable.** ``.python`` is the function as written, and with ``NUMBA_DISABLE_JIT=1`` in the
  environment it is what runs.
* **Cached on disk**, by `suffice.kernels.compiler.cache`, never stale: an entry is found by the
  hash of all kernel sources, the byte code and constants in memory of the kernel and of all it
  calls, the argument types, the processor and the compiler's settings. Where that fails, the kernel
  compiles without it.

This module alone touches numba's private parts: the cache slot of a dispatcher, the conversion of
a compilation result to bytes and back, the compiler's lock. With a numba that has changed them a
kernel is compiled in each process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import pickle
import pkgutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

import numpy as np

from suffice.kernels.compiler.cache import Store, open_store
from suffice.kernels.compiler.signatures import numba_types, parsed

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

_ANY_ORDER = {"reassoc", "contract", "nsz"}
"""What numba calls the freedom to add in any order; NaN and infinity are still respected."""

_SETTINGS = (
    "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML"
)  # fmt: skip
"""Settings of numba (NUMBA_OPT, …) that change the machine code; numba's own cache ignores them."""

_registry: dict[str, Kernel[..., Any]] = {}

KERNELS = Path(__file__).parents[1]


class Kernel(Generic[P, R]):
    """A function on arrays, compiled at its first call; see the module's text.

    Attributes
    ----------
    python : callable
        The function as written.
    signatures : tuple of str
        The argument types it is compiled for.
    name : str
        Module and name.
    any_order : bool
        Whether the compiler may add terms of a sum in another order.
    allocates : bool, optional
        Whether it may make arrays, whose references are then counted; None: what its caller says.
    loaded, compiled : int
        How many signatures this process took from the disk, and how many it compiled.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[P, R],
        signatures: tuple[str, ...],
        any_order: bool = False,
        allocates: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.python = function
        self.signatures = signatures
        self.any_order = any_order
        self.allocates = allocates
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.loaded = 0
        self.compiled = 0
        self._run: Callable[P, R] | None = None
        self._dispatcher: Any = None
        code = cast(FunctionType, function).__code__
        if code.co_freevars or "<locals>" in self.name:
            raise TypeError(f"kernel {self.name} must be a function of a module, not of a function")
        for signature in signatures:
            if len(parsed(signature)) != code.co_argcount:
                raise TypeError(
                    f"kernel {self.name} takes {code.co_argcount} arguments, "
                    f"but its signature lists {len(parsed(signature))}: {signature!r}"
                )
        _registry[self.name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        run = self._run
        if run is None:
            run = self.compile()
        return run(*args, **kwargs)

    def compile(self) -> Callable[P, R]:
        """Compile for all declared signatures, or load from disk; return what a call runs."""
        if self._run is None:
            if _is_disabled():
                self._run = self.python
            else:
                with _compiler_lock():
                    dispatcher = self._make_dispatcher()
                    self._run = dispatcher
        return self._run

    def _make_dispatcher(self) -> Any:
        """Return numba's dispatcher, compiled for the declared signatures. Call under the lock."""
        if self._dispatcher is None:
            import numba

            fast = _ANY_ORDER if self.any_order else False
            counted = {} if self.allocates is None else {"_nrt": self.allocates}
            dispatcher = numba.jit(self.python, fastmath=fast, **counted, **_OPTIONS)
            dispatcher._cache = _DispatcherCache(self)
            self._dispatcher = dispatcher  # before compiling: a kernel may call itself
            try:
                for signature in self.signatures:
                    dispatcher.compile(numba_types(signature))
            except BaseException:
                self._dispatcher = None
                raise
            if self.signatures:
                dispatcher.disable_compile()
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba asks of a global that it finds in the code of another kernel."""
        import numba

        with _compiler_lock():
            return numba.typeof(self._make_dispatcher())

    def __reduce__(self) -> str:
        return self.python.__qualname__  # pickled by name, like a function

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


@overload
def kernel(function: Callable[P, R], /) -> Kernel[P, R]: ...
@overload
def kernel(
    *signatures: str, any_order: bool = False, allocates: bool | None = None
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(*arguments: Any, any_order: bool = False, allocates: bool | None = None) -> Any:
    """Make a kernel of a module's function: ``@kernel`` or ``@kernel(signature, …)``.

    Examples
    --------
    >>> from suffice.kernels.sums.double_double import two_sum
    >>> two_sum.python(1.0, 2.0**-60) == (1.0, 2.0**-60)
    True
    """
    if len(arguments) == 1 and callable(arguments[0]):
        return Kernel(arguments[0], (), any_order, allocates)
    return lambda function: Kernel(function, arguments, any_order, allocates)


def all_kernels() -> tuple[Kernel[..., Any], ...]:
    """Return every kernel of this package, and of the other modules imported so far, by name."""
    package = __name__.partition(".compiler")[0]
    for module in pkgutil.walk_packages([str(KERNELS)], f"{package}."):
        importlib.import_module(module.name)
    return tuple(_registry[name] for name in sorted(_registry))


@dataclass(frozen=True)
class Warmed:
    """What `warm` did for one kernel."""

    name: str
    seconds: float
    compiled: int
    loaded: int


def warm(progress: Callable[[int, int, str], None] | None = None) -> list[Warmed]:
    """Compile every kernel with declared signatures, so that later processes only load them.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(done, total, name)`` before each kernel, and once at the end with an
        empty name.
    """
    kernels = [one for one in all_kernels() if one.signatures]
    done: list[Warmed] = []
    for one in kernels:
        if progress is not None:
            progress(len(done), len(kernels), one.name)
        start = time.perf_counter()
        compiled, loaded = one.compiled, one.loaded
        one.compile()
        seconds = time.perf_counter() - start
        done.append(Warmed(one.name, seconds, one.compiled - compiled, one.loaded - loaded))
    if progress is not None:
        progress(len(done), len(kernels), "")
    return done


def _is_disabled() -> bool:
    """Tell whether numba is told to leave Python functions alone, without importing it for that."""
    try:
        if int(os.environ.get("NUMBA_DISABLE_JIT", "0")):
            return True
    except ValueError:
        pass
    import numba

    return bool(numba.config.DISABLE_JIT)


@functools.cache
def _compiler_lock() -> AbstractContextManager[Any]:
    """Return the one lock under which kernels are compiled: numba's own.

    numba holds it while it compiles and asks for the kernels that the code calls. A second lock
    per kernel, taken in the other order by another thread, would be a deadlock. A fork waits for
    the compilation in another thread, else the child would inherit a lock that nobody releases.
    """
    try:
        from numba.core.compiler_lock import global_compiler_lock as lock
    except ImportError:
        lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return cast("AbstractContextManager[Any]", lock)


@functools.cache
def _store() -> Store | None:
    versions = tuple(
        importlib.import_module(name).__version__ for name in ("numba", "llvmlite", "numpy")
    )
    return open_store(KERNELS, versions)


class _DispatcherCache:
    """What a numba dispatcher asks before it compiles and tells after it has, on our `Store`."""

    cache_path = None

    def __init__(self, kernel: Kernel[..., Any]) -> None:
        self._kernel = kernel
        self._fingerprint = "\n".join(_fingerprint(kernel, set()))

    def load_overload(self, types: Any, target: Any) -> Any:
        found = None
        try:
            store = _store()
            content = store and store.read(self._entry(types, target.codegen()))
            if content:
                found = _from_bytes(content, target)
        except Exception:  # noqa: BLE001 - whatever is wrong with an entry, compile instead
            found = None
        if found is None:
            self._kernel.compiled += 1
        else:
            self._kernel.loaded += 1
        return found

    def save_overload(self, types: Any, result: Any) -> None:
        try:
            store = _store()
            # Dynamic globals and lifted loops refer to addresses in this process.
            if store and not result.library.has_dynamic_globals and not result.lifted:
                store.write(self._entry(types, result.codegen), _to_bytes(result))
        except Exception:  # noqa: BLE001 - the kernel works without its copy on disk
            return

    def _entry(self, types: Any, codegen: Any) -> str:
        from numba import config

        settings = [str(getattr(config, name, None)) for name in _SETTINGS]
        key = [self._fingerprint, str(types), str(codegen.magic_tuple()), *settings]
        digest = hashlib.sha256("\n".join(key).encode()).hexdigest()
        return f"{self._kernel.name}-{digest[:24]}.nbc"

    def flush(self) -> None: ...


def _to_bytes(result: Any) -> bytes:
    """Turn a compilation result into bytes, together with the names of what its code calls."""
    from numba.core.serialize import dumps

    module = result.library._final_module
    called = [
        one.name
        for one in (*module.functions, *module.global_variables)
        if one.is_declaration and not one.name.startswith("llvm.")
    ]
    return cast(bytes, dumps((called, result._reduce())))


def _from_bytes(content: bytes, target: Any) -> Any:
    """Make a compilation result of bytes that this user's numba has written.

    Before it compiles, numba fills its tables of types and functions, which takes longer than all
    else here. Code that is compiled already needs none of them, only the addresses of what it
    calls: mostly numba's small runtime. If an address is still unknown then, the tables are
    filled as for compiling.
    """
    from numba.core.compiler import CompileResult
    from numba.core.runtime import rtsys

    called, reduced = pickle.loads(content)
    rtsys.initialize(target)
    llvm = importlib.import_module("llvmlite.binding")
    if not all(llvm.address_of_symbol(name) for name in called):
        target.refresh()
    return CompileResult._rebuild(target, *reduced)


def _fingerprint(kernel: Kernel[..., Any], seen: set[str]) -> Iterator[str]:
    """Describe the code in memory of a kernel, of those it calls, and the constants they use.

    The sources may have been edited since they were imported; this says what was imported.
    """
    if kernel.name in seen:
        return
    seen.add(kernel.name)
    function = cast(FunctionType, kernel.python)
    yield f"{kernel.name} {function.__defaults__} {kernel.any_order} {kernel.allocates}"
    for code in _nested(function.__code__):
        constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
        yield f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Kernel):
                yield from _fingerprint(value, seen)
            elif isinstance(value, bool | int | float | str | tuple | np.generic):
                yield f"{name} = {value!r}"
            elif isinstance(value, np.ndarray):
                yield f"{name} = {value.dtype} {value.shape} {value.tobytes().hex()}"


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
