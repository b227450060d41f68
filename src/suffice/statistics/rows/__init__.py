"""The rows themselves, as a statistic."""
