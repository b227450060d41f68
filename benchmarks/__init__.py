"""Every timing claim, side by side with other libraries: `python -m benchmarks`."""
