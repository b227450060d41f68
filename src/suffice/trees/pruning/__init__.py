"""Trees made smaller after they are grown."""
