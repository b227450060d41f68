"""Several classes by a machine for each two of them."""
