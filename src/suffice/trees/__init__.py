"""Decision trees: CART, C4.5 and ID3."""

from __future__ import annotations

from suffice.trees.showing.pictures import plot_tree
from suffice.trees.showing.rules import ColumnCondition, LeafRule, rules, rules_of
from suffice.trees.showing.text import export_text

__all__ = ["ColumnCondition", "LeafRule", "export_text", "plot_tree", "rules", "rules_of"]
