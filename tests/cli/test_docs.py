"""Every command in the documents prints what they say."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def sessions(page):
    """Commands of a page's console blocks, each with what it prints."""
    text = (ROOT / page).read_text("utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield shlex.split(command), output.strip() + "\n"


@pytest.mark.parametrize("page", ["docs/command-line.md", "README.md"])
def test_console_blocks(page, run, folder):
    found = list(sessions(page))
    assert found
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for (program, *arguments), expected in found:
        if program == "cat":  # the file that the following commands read
            Path(arguments[0]).write_text(expected)
            continue
        assert program == "suffice"
        outcome = run(*arguments)
        printed = outcome.out + outcome.err
        assert doctest.OutputChecker().check_output(expected, printed, flags), printed
        assert outcome.code == (2 if re.search("^error: ", expected, re.MULTILINE) else 0)
