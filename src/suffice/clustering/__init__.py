"""Groups of rows."""
