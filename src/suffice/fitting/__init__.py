"""From a source of rows to a certified, saved model."""
