"""Anomalies: densities of rows held out, and the threshold that they give."""
