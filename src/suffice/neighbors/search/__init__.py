"""How neighbours are found."""
