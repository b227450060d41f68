"""A tree for people: as text, as rules, as a picture."""
