"""From text to rows of numbers."""

from __future__ import annotations

from suffice.text.bag_of_words import BagOfWords

__all__ = ["BagOfWords"]
