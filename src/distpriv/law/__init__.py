"""The distribution of sums over rows with noise: exact tilted draws."""
