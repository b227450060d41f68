"""Support vector machines, and other methods that see rows through a kernel alone."""
