"""Where centres start."""
