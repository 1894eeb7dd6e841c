"""What a mechanism promises, at which level of assurance, and the checks behind it."""
