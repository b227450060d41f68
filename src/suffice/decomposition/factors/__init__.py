"""What factor analysis is made of: its likelihood, the way to the maximum, rotations."""
