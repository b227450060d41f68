"""Run scikit-learn's test files for the models that we have too on ours.

python -m peers [names of files, such as test_forest.py] [options of pytest]
"""

import sys
from pathlib import Path

import pytest
import sklearn

# By their path: pytest takes the names of modules too, but then reads our own tests' conftest.py.
FOLDER = Path(sklearn.__file__).parent
FILES = (
    *sorted((FOLDER / "tree" / "tests").glob("test_*.py")),
    FOLDER / "ensemble" / "tests" / "test_forest.py",
    FOLDER / "ensemble" / "tests" / "test_bagging.py",
    FOLDER / "decomposition" / "tests" / "test_factor_analysis.py",
    FOLDER / "decomposition" / "tests" / "test_kernel_pca.py",
    FOLDER / "tests" / "test_kernel_ridge.py",
    FOLDER / "cluster" / "tests" / "test_k_means.py",
    FOLDER / "mixture" / "tests" / "test_gaussian_mixture.py",
    FOLDER / "mixture" / "tests" / "test_mixture.py",
    FOLDER / "svm" / "tests" / "test_svm.py",
    FOLDER / "svm" / "tests" / "test_sparse.py",
)
SETTINGS = Path(__file__).with_name("pytest.ini")


def main(arguments: list[str]) -> int:
    chosen = [file for file in FILES if file.name in arguments]
    options = [argument for argument in arguments if argument not in {file.name for file in FILES}]
    return pytest.main(["-c", str(SETTINGS), *map(str, chosen or FILES), *options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
