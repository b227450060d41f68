"""What the tests of sources share: how a whole source is put together again."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import issparse, vstack

from suffice.sources import block_rows


def read_whole(source):
    """All rows of a source in one, after checking that its pieces are cut as promised."""
    blocks, start, size = [], 0, block_rows(source.n_columns)
    pieces = list(source.pieces())
    for piece in pieces:
        block = piece.load()
        assert piece.start == block.start == start
        assert piece.n_rows == block.n_rows == block.X.shape[0]
        assert block.X.shape[1] == source.n_columns
        assert piece.n_rows == size or piece is pieces[-1]
        assert (block.y is not None) == source.has_target
        assert (block.weight is not None) == source.has_weight
        assert issparse(block.X) == source.sparse
        start += piece.n_rows
        blocks.append(block)
    assert source.count_rows() == start == source.n_rows
    parts = [block.X for block in blocks]
    return SimpleNamespace(
        X=vstack(parts) if source.sparse else np.concatenate(parts),
        y=np.concatenate([b.y for b in blocks]) if source.has_target else None,
        weight=np.concatenate([b.weight for b in blocks]) if source.has_weight else None,
        blocks=blocks,
    )


@pytest.fixture(name="read_whole")
def _read_whole():
    return read_whole
