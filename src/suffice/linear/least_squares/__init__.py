"""How least squares is solved: from moments, on the side of the rows, or by gradients."""
