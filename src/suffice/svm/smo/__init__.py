"""Sequential minimal optimisation, and the kernel values that it needs."""
