"""What a generalised linear model is made of: responses, links, the loss."""
