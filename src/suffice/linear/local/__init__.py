"""What locally weighted regression is made of."""
