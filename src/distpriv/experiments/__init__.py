"""The tables and figures of the paper, one file each, returning frozen results."""
