"""What discriminants are made of: covariances, their axes, and directions."""
