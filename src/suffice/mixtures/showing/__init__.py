"""Pictures of mixtures, and of EM on its way."""
