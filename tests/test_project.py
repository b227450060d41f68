"""The project keeps its word: names, documents, versions, and what an import costs."""

import ast
import importlib
import inspect
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import suffice
from suffice import catalogue
from suffice.fitting.classification import Classifier
from suffice.fitting.clustering import Clusterer
from suffice.fitting.density import DensityModel
from suffice.fitting.estimator import Estimator
from suffice.fitting.one_pass import OnePass
from suffice.fitting.outliers import OutlierDetector
from suffice.fitting.regression import Regressor
from suffice.fitting.transforming import SourceTransformer

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "suffice"
KINDS = {Classifier, Clusterer, DensityModel, OutlierDetector, Regressor, SourceTransformer}
"""What a model is, beside how it is fitted."""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def project_files():
    """The files that git tracks or would track; all files where this is no git checkout."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listing = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        folders = ("src", "tests", "docs", "benchmarks", "examples")
        names = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [path for path in names if path.is_file() and path.suffix != ".pyc"]


def test_every_public_name_is_importable_and_documented():
    assert suffice.__all__
    for name in suffice.__all__:
        thing = getattr(suffice, name)
        if name != "__version__":
            assert inspect.getdoc(thing), f"suffice.{name} has no docstring"


def test_public_names_are_listed_once_and_offered_by_dir():
    assert len(set(suffice.__all__)) == len(suffice.__all__)
    assert set(suffice.__all__) <= set(dir(suffice))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = suffice.no_such_thing


def test_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert suffice.__version__ == project["version"]


def test_changelog_speaks_of_this_version():
    version = re.escape(suffice.__version__)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## (Unreleased|{version})\b", changelog, re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/getting-started.md"])
def test_commands_in_the_documents_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = (ROOT / page).read_text("utf-8")
    commands = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    assert commands
    assert commands <= targets


def test_readme_shows_how_to_see_it_and_how_to_check_it():
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_the_tour_in_the_readme_prints_what_it_says(tmp_path):
    text = (ROOT / "README.md").read_text("utf-8")
    tour = re.search(r"```python\n(.*?)```\n\nIt prints\n\n```text\n(.*?)```", text, re.DOTALL)
    assert tour, "the README has no tour followed by what it prints"
    code, expected = tour.groups()
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    ).stdout

    def without_last_bits(output):
        return re.sub(r"(stationarity +)\S+", r"\1…", output)

    assert without_last_bits(printed) == without_last_bits(expected)


def pages_in_the_navigation():
    """File names of the pages, in the order of the site."""
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^ +- .+: (\S+\.md)$", text.partition("\nnav:\n")[2], re.MULTILINE)


def links_of(page):
    """What a page links to in this project, without the places within pages."""
    return re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))


def test_every_page_is_in_the_navigation_once():
    assert sorted(pages_in_the_navigation()) == sorted(p.name for p in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("index", ["README.md", "docs/index.md"])
def test_every_page_is_linked_from_the_readme_and_from_the_front_page(index):
    start = ROOT / index
    linked = {(start.parent / target).resolve() for target in links_of(start)}
    pages = [ROOT / "docs" / name for name in pages_in_the_navigation()]
    assert [page.name for page in pages if page not in {*linked, start}] == []


def test_every_link_leads_somewhere():
    for page in [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]:
        for target in links_of(page):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_catalogue_page_is_up_to_date():
    page = runpy.run_path(str(ROOT / "docs" / "build_catalogue.py"))["page"]
    assert (ROOT / "docs" / "catalogue.md").read_text("utf-8") == page(), "run `make docs`"


def test_no_file_names_the_folders_of_one_machine():
    # Spelt in pieces, so that this file does not accuse itself.
    private = re.compile(
        rb"(?<![\w.~-])/(?:" + b"|".join([b"work", b"root", b"home", b"Users"]) + rb")/"
    )
    guilty = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in project_files()
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if private.search(line)
    ]
    assert not guilty


@pytest.mark.parametrize(
    ("names", "heavy"),
    [
        ([], ["numba", "pyarrow", "pandas", "polars", "matplotlib", "sklearn"]),
        (["scan"], ["numba", "pyarrow", "pandas", "polars", "matplotlib"]),
        # scikit-learn itself imports pandas and pyarrow where they are installed.
        (["LinearRegression", "Ridge", "load"], ["numba", "polars", "matplotlib"]),
    ],
    ids=["package", "scan", "estimators"],
)
def test_import_is_light(names, heavy):
    code = f"""
import sys, suffice
for name in {names}:
    getattr(suffice, name)
print([module for module in {heavy} if module in sys.modules])
"""
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


def test_ci_runs_the_whole_check():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o100, "not executable"
    assert "make test" in script.read_text("utf-8")
    assert run("bash", "-n", str(script)).returncode == 0


# --- the shape of the code ------------------------------------------------------------------


def modules():
    """Every file of the library with its syntax tree."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def lines_without_docstring(function):
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    lines = function.end_lineno - function.lineno + 1
    return lines - (first.end_lineno - first.lineno + 1) if documented else lines


def test_no_file_is_over_400_lines():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert [f"{p.relative_to(SOURCE)}: {n}" for p, n in sorted(lengths.items()) if n > 400] == []


def test_no_function_is_over_70_lines_beside_its_docstring():
    assert [
        f"{path.relative_to(SOURCE)}: {node.name}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and lines_without_docstring(node) > 70
    ] == []


def test_one_name_of_a_class_means_one_thing():
    places = {}
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("entry", catalogue.models(), ids=lambda entry: entry.name)
def test_a_model_is_four_classes_deep_and_of_one_kind(entry):
    ours = [cls for cls in entry.load().__mro__ if cls.__module__.startswith("suffice.")]
    # A linear discriminant classifies rows, and projects them; k-means tells distances, too.
    kinds = 2 if entry.name in {"LinearDiscriminantAnalysis", "KMeans"} else 1
    assert len(KINDS & set(ours)) <= kinds
    deep = [cls.__name__ for cls in ours if cls not in KINDS]
    assert len(deep) <= 4, deep


def names_in_the_guide(heading):
    """The first column of the table under a heading of the guide, without arguments."""
    guide = (ROOT / "docs" / "adding-an-algorithm.md").read_text("utf-8")
    section = guide.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `(_\w+)", section, re.MULTILINE))


def test_a_model_has_ten_hooks_at_most_and_overrides_nothing_else():
    for module in pkgutil.walk_packages(suffice.__path__, "suffice."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    hooks, asked = names_in_the_guide("All hooks"), names_in_the_guide("What selection may ask")
    assert 5 < len(hooks) <= 10
    bases = {Estimator, OnePass}
    private = {
        name
        for base in bases
        for name, value in vars(base).items()
        if inspect.isfunction(value)
        and re.match("_[^_]", name)
        and not hasattr(BaseEstimator, name)  # scikit-learn's, to be overridden as there
    }
    assert hooks <= private
    overridden = {}
    for model in every_subclass(Estimator) - bases:
        for name in private & vars(model).keys():
            overridden.setdefault(name, []).append(model.__name__)
    assert {n: sorted(who) for n, who in overridden.items() if n not in hooks | asked} == {}
    # Those of kinds count, too: a hook that no model has is none.
    used = overridden.keys() | {name for kind in KINDS for name in vars(kind)}
    assert hooks <= used


def every_subclass(cls):
    found = {cls} if cls.__module__.startswith("suffice.") else set()
    return found.union(*(every_subclass(below) for below in cls.__subclasses__()))
