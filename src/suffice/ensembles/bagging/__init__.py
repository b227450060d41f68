"""Bagging: draws of rows and columns, and what classifier and regressor share."""
