"""A tree's nodes in arrays, and how rows find their way through them."""
