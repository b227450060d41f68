"""How the lasso and the elastic net are solved."""
