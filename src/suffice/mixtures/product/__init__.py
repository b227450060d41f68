"""Columns that are independent given the component, each a member of an exponential family."""
