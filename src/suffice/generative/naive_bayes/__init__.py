"""What naive Bayes models are made of: columns of each kind, smoothing, rows without labels."""
