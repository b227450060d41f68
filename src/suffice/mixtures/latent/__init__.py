"""What is hidden in a mixture: responsibilities, labels of some rows, starts and restarts of EM."""
