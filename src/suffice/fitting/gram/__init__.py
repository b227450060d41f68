"""Models that see their rows through a kernel alone: its matrix, and systems with it."""
