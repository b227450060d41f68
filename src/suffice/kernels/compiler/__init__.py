"""From Python functions on arrays to compiled kernels, kept between processes."""
