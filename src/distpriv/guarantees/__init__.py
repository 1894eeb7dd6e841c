"""What a mechanism promises, at which level of trust, and the checks behind it."""
