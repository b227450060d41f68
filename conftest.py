"""Doctests, wherever they stand: examples may write files, each in a folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _own_folder_for_examples(request, tmp_path, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
