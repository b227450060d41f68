"""GaussianComponents in a mixture: densities, the M step, missing cells, starts, pictures."""
