"""Model selection: cross-validation and search over parameters."""

from suffice.selection.cross_validation import CrossValidation, cross_validate
from suffice.selection.grid_search import GridSearchCV

__all__ = ["CrossValidation", "GridSearchCV", "cross_validate"]
