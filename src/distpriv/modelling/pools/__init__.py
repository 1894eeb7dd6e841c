"""Rows in memory to draw datasets from: all of a table, or a sample of each stratum of a large one."""
