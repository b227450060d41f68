"""What stands where in the arrays from which a tree grows."""

# Settings, how far growth has come, and whether somebody wants it to stop.
CRITERION, MAX_DEPTH, MIN_SPLIT, MIN_LEAF, MAX_FEATURES, MAX_LEAVES, SEED = range(7)
WEIGHTED, PLAIN = 7, 8
N_NODES, N_SEEN, N_WAITING, N_WORDS, STOP_ASKED = range(9, 14)
MIN_WEIGHT, MIN_DECREASE, ALL_WEIGHT = range(3)
# Columns: how one is kept, whether cells are equal or missing, how many values it has, and which of
# them is the most frequent.
KIND, TIED, BINS, USUAL = range(4)
MANY_VALUES, FEW_VALUES, CATEGORIES = range(3)
# Orders of the rows, behind those by the columns.
PLACES, BY_TARGET, BUFFER, ROWS = range(-4, 0)
# Numbers of the rows: the target times the weight as it is added up, the target, the weight.
ADDED, TARGET, ROW_WEIGHT = range(3)
# Nodes, in whole numbers; LOW and HIGH are the rows, or the bins, on both sides of a cut.  Behind
# these come bits of the columns that do not vary in the node.
START, STOP, DEPTH, LEFT, RIGHT, FEATURE, LOW, HIGH, KNOWN_LEFT, KNOWN = range(10)
MISSING_LEFT, SET, WAITING, PATH, CONSTANT = range(10, 15)
# Nodes, in other numbers; behind these come the sums of their rows.
IMPURITY, WEIGHT, DECREASE, VALUE, SUMS = range(5)
# Room to work with, a number for each row; tables of 1/k, the same from the end, and k log₂ k.
PREFIX, ROOM, INVERSE, BACKWARDS, LOGS = range(5)
# The last lines of a table of sums.
MISSING_SUMS, SIDES = -6, -5
# Lists of whole numbers, one for each category or column.
SLOTS, PRESENT, COUNTS, BIN_ORDER, DRAWN = range(5)
# Why growth has paused or ended.
DONE, FULL, ASKED, STOPPED = range(4)
# The way to a node as a number: that of its parent, plus 1 or 2, times this.
TURN = 0x9E3779B97F4A7C15
