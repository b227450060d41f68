"""How trees grow: exactly from rows in memory, by histograms from streams."""
