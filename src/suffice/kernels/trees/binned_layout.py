"""What stands where in the arrays from which a tree grows out of bins."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Numbers = NDArray[np.uint32]
Keys = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Cut = tuple[float, int, int, bool]
"""The cost of both sides, the bins on both sides of the cut, and whether missing cells go left."""

U = np.uint64
SHIFT, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)

# Lines of what is known of the rows of a node, in the order of the nodes.
ROWS, LABELS, BUFFER, LABEL_BUFFER = range(4)
WEIGHTS, TARGETS, ADDED, REAL_BUFFER = range(4)
# Lines of sums: those of the node, and of the left side.
TOTAL, LEFT_SIDE = range(2)

# Settings, how far growth has come, and whether somebody wants it to stop.
CRITERION, MAX_DEPTH, MIN_SPLIT, MIN_LEAF, MAX_FEATURES, MAX_LEAVES, AT_RANDOM, PACKED = range(8)
N_NODES, N_WAITING, N_WORDS, STOP_ASKED, N_SETTINGS = range(8, 13)
MIN_WEIGHT, MIN_DECREASE, ALL_WEIGHT = range(3)
# Nodes, in whole numbers; LOW and HIGH are the bins on both sides of a cut.  Behind these come bits
# of the columns that do not vary in the node.
START, STOP, DEPTH, LEFT, FEATURE, LOW, HIGH, MISSING_LEFT, SET, WAITS, CONSTANT = range(11)
# Nodes, in other numbers; DRAWN is where a cut at random lies, else NaN.  Behind come the sums
# of their rows.
IMPURITY, WEIGHT, DECREASE, VALUE, REST, DRAWN, SUMS = range(7)
# What is known of the columns.
BINS, CATEGORIES, PLACE = range(3)
# Why growth has paused or ended.
DONE, FULL, STOPPED = range(3)

WITHOUT_LIMIT = 2**31 - 1
"""Leaves, or steps from the root, that are as many as one likes."""

FEW = 2048
"""Rows up to which their cells are read row by row: what one column's cells bring into the cache
serves other columns."""

WIDE = 1024
"""Columns up to which this is so."""

N_LINES = 4
"""Numbers for each place where a column can be cut; see `places`."""
