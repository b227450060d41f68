"""The decorator: laziness, kernels that call kernels, the cache, threads and forks."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

import suffice.kernels.compiler.compile as compile_module
from suffice.kernels.compiler.cache import Store
from suffice.kernels.compiler.compile import Kernel, all_kernels, kernel
from suffice.kernels.sums import exact

Run = Callable[..., Any]
Start = Callable[..., "subprocess.Popen[str]"]

# Each process costs a second and tells the same with and without the compiler in this one.
pytestmark = pytest.mark.compiled
linux = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux system calls")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

CALLEE = """
from suffice.kernels.compiler.compile import kernel

OFFSET = 1.0

@kernel
def shift(x: float) -> float:
    return x + OFFSET
"""

CALLER = """
from suffice.kernels.callee import shift
from suffice.kernels.compiler.compile import kernel

@kernel("const float64[::1], float64[::1]")
def shift_all(x, out):
    for i in range(x.shape[0]):
        out[i] = shift(x[i])
    return x.shape[0]
"""

USE = """
import json, sys
import numpy as np
from suffice.kernels.caller import shift_all
x, out = np.zeros(3), np.empty(3)
shift_all(x, out)
def report():
    print(json.dumps([out[0], shift_all.compiled, shift_all.loaded]))
"""

CALL = USE + "report()"
COMPILED, LOADED = [1.0, 1, 0], [1.0, 0, 1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the kernels' package with a kernel that calls one in another file."""
    compiler = Path(compile_module.__file__).parent
    copy = tmp_path / "tree" / "suffice" / "kernels"
    shutil.copytree(compiler, copy / "compiler", ignore=shutil.ignore_patterns("__pycache__"))
    (copy.parent / "__init__.py").touch()
    shutil.copy(compiler.parent / "__init__.py", copy)
    (copy / "callee.py").write_text(CALLEE)
    (copy / "caller.py").write_text(CALLER)
    return copy


@pytest.fixture
def toy(tree: Path, run: Run) -> Run:
    """Run code on the copied package."""
    return lambda code=CALL, **options: run(code, PYTHONPATH=str(tree.parents[1]), **options)


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.nbc"))


# Laziness and Python mode ------------------------------------------------------------------------


def test_importing_kernels_imports_no_numba(run: Run) -> None:
    code = """
import json, sys
import suffice.kernels.sums.exact
from suffice.kernels.compiler.compile import all_kernels
all_kernels()
before = [name for name in sys.modules if name.partition(".")[0] in ("numba", "llvmlite")]
suffice.kernels.sums.exact.centre_pair.compile()
print(json.dumps([before, "numba" in sys.modules]))
"""
    assert run(code) == [[], True]


def test_python_runs_when_numba_is_switched_off(run: Run) -> None:
    code = """
import json, sys
import numpy as np
from suffice.kernels.sums import double_double
from suffice.kernels.sums import exact
called = set()
def trace(frame, event, argument):
    called.add(frame.f_code.co_name)
    return None
sys.settrace(trace)
hi, lo = np.empty((2, 1, 1))
exact.centre_pair(np.array([[3.0]]), np.array([1.0]), np.array([0.0]), hi, lo)
sys.settrace(None)
print(json.dumps([
    hi[0, 0], lo[0, 0], {"centre_pair", "two_sum"} <= called, "numba" in sys.modules,
    exact.centre_pair.compile() is exact.centre_pair.python is exact.centre_pair.__wrapped__,
]))
"""
    assert run(code, NUMBA_DISABLE_JIT="1") == [2.0, 0.0, True, False, True]


# Kernels as objects ------------------------------------------------------------------------------


def test_kernel_looks_like_its_function() -> None:
    assert exact.downdate.__name__ == "downdate"
    assert exact.downdate.__doc__ == exact.downdate.python.__doc__
    assert exact.downdate.name == "suffice.kernels.sums.exact.downdate"
    assert pickle.loads(pickle.dumps(exact.downdate)) is exact.downdate


def test_functions_inside_functions_are_refused() -> None:
    def inner(x: float) -> float:
        return x

    with pytest.raises(TypeError, match="must be a function of a module"):
        kernel(inner)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("float64", "takes 2 arguments, but its signature lists 1"),
        ("float64[:, :], int64", r"cannot read the argument type 'float64\[:, :\]'"),
        ("float64[::1], const", "cannot read the argument type 'const'"),
        ("float64[::1], complex128", "cannot read the argument type 'complex128'"),
        ("", "cannot read the argument type ''"),
    ],
)
def test_bad_signature_is_an_error_at_import(signature: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Kernel(module_function, (signature,))
    assert module_function.__module__ + ".module_function" not in compile_module._registry


def module_function(x: Any, y: Any) -> Any:
    return x


def test_signatures_name_numba_types() -> None:
    array = numba.types.Array
    float64, int64 = numba.types.float64, numba.types.int64
    assert compile_module.numba_types("const float64[:, ::1], int64[::1], float64") == (
        array(float64, 2, "C", readonly=True),
        array(int64, 1, "C"),
        float64,
    )
    assert compile_module.numba_types("bool,uint8[:,:,::1]") == (
        numba.types.boolean,
        array(numba.types.uint8, 3, "C"),
    )


def test_all_kernels_are_listed_by_name() -> None:
    names = [one.name for one in all_kernels()]
    assert names == sorted(names)
    assert {one.name for one in (exact.split_slices, exact.centre_pair)} <= set(names)


WARM = """
import json
from suffice.kernels.compiler.compile import warm
calls = []
done = warm(lambda *step: calls.append(step))
print(json.dumps([[one.name, one.compiled, one.loaded] for one in done] + [calls]))
"""


def test_warming_compiles_all_and_then_loads_all(toy: Run, tmp_path: Path) -> None:
    check_warming(toy, "suffice.kernels.caller.shift_all", tmp_path)


@pytest.mark.long
def test_warming_every_kernel(run: Run, tmp_path: Path) -> None:
    check_warming(run, "suffice.kernels.sums.exact.split_slices", tmp_path)


def check_warming(run: Run, one_of_them: str, tmp_path: Path) -> None:
    *first, calls = run(WARM)
    total = len(first)
    names = [name for name, _, _ in first]
    assert one_of_them in names
    assert calls == [[i, total, name] for i, name in enumerate([*names, ""])]
    assert all(compiled > 0 and loaded == 0 for _, compiled, loaded in first)
    *second, _ = run(WARM)
    assert second == [[name, 0, compiled] for name, compiled, _ in first]
    assert len(entries(tmp_path)) >= total


# The cache between processes ---------------------------------------------------------------------


def test_second_process_loads_what_the_first_compiled(toy: Run, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    assert toy(NUMBA_CACHE_DIR=str(foreign)) == COMPILED
    both = USE + "x.flags.writeable = False; shift_all(x, out); report()"
    assert toy(both) == LOADED
    assert not foreign.exists()  # numba's own cache has no part in this
    # Code that checks bounds, and a numba with other private parts, are not served what is there.
    assert toy(NUMBA_BOUNDSCHECK="1") == COMPILED
    other = "from numba.core.compiler import CompileResult as C; del C._rebuild, C._reduce\n"
    assert toy(other + CALL) == COMPILED


EVERYTHING = """
import math
import numpy as np
from suffice.kernels.compiler.compile import kernel

@kernel("const float64[::1], int64")
def everything(x, n):
    if n < 0:
        raise ValueError("n is negative")
    total = np.zeros(n)
    for i in range(n):
        total[i] = math.lgamma(x[i]) + math.exp(x[i]) + x[i] ** 2.5 + np.log1p(x[i]) % 0.3
    return total, n
"""


def test_loaded_code_allocates_raises_and_returns_arrays(toy: Run, tree: Path) -> None:
    (tree / "everything.py").write_text(EVERYTHING)
    code = """
import json
import numpy as np
from suffice.kernels.everything import everything
x = np.linspace(0.5, 4.0, 9)
array, n = everything(x, 9)
expected, _ = everything.python(x, 9)
try:
    everything(x, -1)
except ValueError as error:
    message = str(error)
close = np.allclose(array, expected, rtol=1e-14) and n == 9
print(json.dumps([bool(close), message, everything.compiled, everything.loaded]))
"""
    assert toy(code) == [True, "n is negative", 1, 0]
    assert toy(code) == [True, "n is negative", 0, 1]
    unknown = "import llvmlite.binding as ll; ll.address_of_symbol = lambda name: None\n"
    assert toy(unknown + code) == [True, "n is negative", 0, 1]


def test_edited_callee_is_never_served_stale(toy: Run, tree: Path) -> None:
    assert toy() == COMPILED
    (tree / "callee.py").write_text(CALLEE.replace("1.0", "2.0"))
    assert toy() == [2.0, 1, 0]
    (tree / "callee.py").write_text(CALLEE.replace("x + OFFSET", "x - OFFSET"))
    assert toy() == [-1.0, 1, 0]
    (tree / "callee.py").write_text(CALLEE)
    assert toy() == LOADED  # the first version is still there


def test_edit_during_a_run_does_not_poison_the_cache(toy: Run, tree: Path) -> None:
    edited = CALLEE.replace("1.0", "3.0")
    code = CALL.replace(
        "shift_all(x, out)\n",
        f"open({str(tree / 'callee.py')!r}, 'w').write({edited!r})\nshift_all(x, out)\n",
        1,
    )
    assert toy(code) == COMPILED  # imported before the edit: runs and stores the old code
    assert toy() == [3.0, 1, 0]


def test_damaged_entries_are_compiled_again(toy: Run, tmp_path: Path) -> None:
    assert toy() == COMPILED
    callee, caller = entries(tmp_path)
    callee.write_bytes(b"garbage")
    caller.write_bytes(caller.read_bytes()[:-100])
    assert toy() == COMPILED
    for entry in entries(tmp_path):  # whole, but nothing that numba can read
        store = Store(entry.parent.parent, entry.parent.name)
        assert store.write(entry.name, store.read(entry.name)[:50])
    assert toy() == COMPILED
    assert toy() == LOADED


def test_cache_place_that_is_a_file(toy: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert toy() == COMPILED
    assert (tmp_path / "cache").read_text() == "in the way"


def obey_permissions() -> None:
    """Drop what lets the superuser write anywhere; takes effect at exec. Runs in the child."""
    library = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        library.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@linux
def test_read_only_home_and_package(toy: Run, tree: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    tree.chmod(0o500)
    options = {"HOME": str(home), "SUFFICE_CACHE_DIR": ""}
    writable = f"import json, os; print(json.dumps(os.access({str(home)!r}, os.W_OK)))"
    try:
        if toy(writable, preexec_fn=obey_permissions, **options):
            pytest.skip("this user may write to read-only folders")
        assert toy(preexec_fn=obey_permissions, **options) == COMPILED
        assert list(home.iterdir()) == []
        home.chmod(0o700)
        assert toy(preexec_fn=obey_permissions, **options) == COMPILED
        for folder in [home, *home.rglob("*")]:
            folder.chmod(0o500 if folder.is_dir() else 0o400)
        assert toy(preexec_fn=obey_permissions, **options) == LOADED  # reading is enough
    finally:
        for folder in (tree, home, *home.rglob("*")):
            folder.chmod(0o700)


@linux
def test_disk_that_takes_no_more(toy: Run, tmp_path: Path) -> None:
    import resource

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    assert toy(preexec_fn=small_files, PYTHONDONTWRITEBYTECODE="1") == COMPILED
    assert [one for one in (tmp_path / "cache").rglob("*") if one.is_file()] == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_folder_open_to_others_is_not_used(toy: Run, tmp_path: Path) -> None:
    assert toy() == COMPILED
    folder = entries(tmp_path)[0].parent
    before = {one: one.stat().st_mtime_ns for one in entries(tmp_path)}
    folder.chmod(0o777)
    assert toy() == COMPILED
    assert {one: one.stat().st_mtime_ns for one in entries(tmp_path)} == before
    if os.geteuid() == 0:
        folder.chmod(0o700)
        os.chown(folder, 12345, -1)
        assert toy() == COMPILED


@pytest.mark.long
def test_numba_with_other_private_parts_compiles_each_time(toy: Run) -> None:
    code = "from numba.core.compiler import CompileResult as C; del C._rebuild, C._reduce\n" + CALL
    assert toy(code) == COMPILED
    assert toy(code) == COMPILED


def test_numba_without_its_lock_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.compiler_lock", None)
    with compile_module._compiler_lock.__wrapped__() as held:
        assert held


# Threads, processes, forks -----------------------------------------------------------------------

THREADS = """
import json, threading
import numpy as np
from suffice.kernels.callee import shift
from suffice.kernels.caller import shift_all
results, barrier = [], threading.Barrier(8)
def work(i):
    x, out = np.full(3, float(i)), np.empty(3)
    barrier.wait()
    if i % 2:
        results.append(shift(float(i)) - i)
    else:
        shift_all(x, out)
        results.append(out[0] - i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([results, shift_all.compiled, shift_all.loaded]))
"""


def test_threads_compile_once(toy: Run) -> None:
    assert toy(THREADS) == [[1.0] * 8, 1, 0]
    assert toy(THREADS) == [[1.0] * 8, 0, 1]


def test_processes_compile_at_the_same_time(
    start: Start, finish: Run, toy: Run, tree: Path, tmp_path: Path
) -> None:
    processes = [start(CALL, PYTHONPATH=str(tree.parents[1])) for _ in range(2)]
    for process in processes:
        result, compiled, loaded = finish(process)
        assert result == 1.0
        assert compiled + loaded == 1
    assert toy() == LOADED
    assert not list((tmp_path / "cache").rglob("*.tmp"))


FORK = """
import os
def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
"""


@forks
def test_fork_after_compiling(toy: Run) -> None:
    code = FORK + USE
    code += """
def child():
    from suffice.kernels.callee import shift
    out[:] = 0.0
    assert shift_all(x, out) == 3 and out[0] == 1.0
    assert shift(2) == 3  # compiles
in_child(child)
report()
"""
    assert toy(code) == COMPILED


@forks
def test_fork_while_another_thread_compiles(toy: Run) -> None:
    code = FORK
    code += """
import json, threading, time
import numpy as np
from suffice.kernels.caller import shift_all
from suffice.kernels.compiler.compile import _compiler_lock
lock = _compiler_lock()
held = threading.Event()
def hold():
    with lock:
        held.set()
        time.sleep(0.3)
thread = threading.Thread(target=hold)
thread.start()
held.wait()
def child():
    out = np.empty(3)
    shift_all(np.zeros(3), out)
    assert out[0] == 1.0
in_child(child)
thread.join()
print(json.dumps([shift_all.compiled, shift_all.loaded]))
"""
    assert toy(code) == [0, 0]


def test_few_kernels_may_add_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose error is bounded in whatever order; the others compute what is written."""
    every = all_kernels()
    free = [one.name for one in every if one.any_order]
    assert free == [
        "suffice.kernels.clustering.bounds.squared_distances",
        "suffice.kernels.clustering.bounds.still_in_doubt",
        "suffice.kernels.gaussian.mixtures.independent_moments",
        "suffice.kernels.gaussian.mixtures.log_densities",
        "suffice.kernels.sums.class_products._add_products",
        "suffice.kernels.sums.cross_products.subtract_line",
    ]
    before = list(compile_module._fingerprint(every[0], set()))
    monkeypatch.setattr(every[0], "any_order", True)
    assert list(compile_module._fingerprint(every[0], set())) != before


def test_an_entry_tells_whether_references_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = all_kernels()[0]
    before = list(compile_module._fingerprint(one, set()))
    monkeypatch.setattr(one, "allocates", False)
    assert list(compile_module._fingerprint(one, set())) != before
