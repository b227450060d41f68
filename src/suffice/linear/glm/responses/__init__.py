"""How a target scatters about its mean."""
