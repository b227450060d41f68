"""Quinlan's days of tennis and golf, and trees in a form that can be compared."""

from __future__ import annotations

import math

import pandas as pd

TENNIS = """
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no
"""

GOLF = """
sunny 75 70 true Play
sunny 80 90 true Don't
sunny 85 85 false Don't
sunny 72 95 false Don't
sunny 69 70 false Play
overcast 72 90 true Play
overcast 83 78 false Play
overcast 64 65 true Play
overcast 81 75 false Play
rain 71 80 true Don't
rain 65 70 true Don't
rain 75 80 false Play
rain 68 80 false Play
rain 70 96 false Play
"""


def tennis():
    names = ["outlook", "temperature", "humidity", "wind", "play"]
    days = pd.DataFrame([line.split() for line in TENNIS.split("\n")[1:-1]], columns=names)
    return days.drop(columns="play"), days["play"]


def golf(unknown=False):
    """The fourteen days of the book; in its chapter on missing values, one outlook is unknown."""
    names = ["outlook", "temperature", "humidity", "windy", "play"]
    days = pd.DataFrame([line.split() for line in GOLF.split("\n")[1:-1]], columns=names)
    days = days.astype({"temperature": int, "humidity": int})
    if unknown:
        days.loc[5, "outlook"] = None
    return days.drop(columns="play"), days["play"]


def nested(tree, node=0):
    """A tree as (weights of the classes, column, threshold, branches by value)."""
    counts = tree.counts[node].tolist()
    if tree.is_leaf[node]:
        return (counts, None, None, {})
    threshold = float(tree.threshold[node])
    below = {int(tree.value[b]): nested(tree, b) for b in tree.branches(node)}
    return (counts, int(tree.column[node]), None if math.isnan(threshold) else threshold, below)


def same(one, other, tolerance=1e-9):
    """Whether two nested trees are the same, weights but for rounding."""
    close = all(abs(a - b) <= tolerance for a, b in zip(one[0], other[0], strict=True))
    return (
        close
        and one[1:3] == other[1:3]
        and one[3].keys() == other[3].keys()
        and all(same(one[3][value], other[3][value], tolerance) for value in one[3])
    )
