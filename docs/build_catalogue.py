"""Write `catalogue.md` from the library's own table of models."""

from pathlib import Path

from suffice.catalogue import as_markdown

PAGE = Path(__file__).with_name("catalogue.md")

ABOVE = """\
# Catalogue

Every model, and what it can do. This page is written by `make docs` from the table in
`suffice.catalogue`. A model whose statistic merges has `update`, `partial_fit` and `a + b`; one
whose statistic subtracts has `forget`; see [Update, forget, merge, refit](update-forget-merge.md).

"""

BELOW = """

| column | meaning |
|---|---|
| objective | what a fit minimises; of transformers, what it finds |
| statistic merges, subtracts | whether statistics can be joined, and rows taken out again |
| solved anew from the statistic for | the parameters that `refit` can change without the data |
| files | whether it fits from files, block by block |
| cluster | whether it fits on a cluster |
| weights | whether rows may carry weights |
| NaN | whether cells may be missing |
| sparse | whether it takes sparse rows (CSR) |
"""


def page() -> str:
    """The whole page."""
    return ABOVE + as_markdown().strip("\n") + BELOW


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
