"""Decision trees: CART, C4.5 and ID3."""
