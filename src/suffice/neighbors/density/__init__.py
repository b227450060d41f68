"""What density estimates are made of."""
