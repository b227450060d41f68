"""Linear machines from their primal problem: masked Gram matrices, pass by pass."""
