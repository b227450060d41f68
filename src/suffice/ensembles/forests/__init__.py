"""What forests are made of: drawn rows, trees from bins, out-of-bag answers."""
