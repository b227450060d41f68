"""Inner loops: pure functions on arrays, compiled by numba at their first call."""
