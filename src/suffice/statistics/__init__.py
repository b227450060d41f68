"""Fixed-size summaries of rows, mergeable."""
