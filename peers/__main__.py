"""Run scikit-learn's test files for trees on ours: `python -m peers [options of pytest]`."""

import sys
from pathlib import Path

import pytest
from sklearn.tree import tests

# By their path: pytest takes the names of modules too, but then reads our own tests' conftest.py.
FILES = Path(tests.__file__).parent
SETTINGS = Path(__file__).with_name("pytest.ini")

if __name__ == "__main__":
    sys.exit(pytest.main(["-c", str(SETTINGS), str(FILES), *sys.argv[1:]]))
