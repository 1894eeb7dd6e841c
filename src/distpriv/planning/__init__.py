"""Every mechanism side by side, the one to use, and the inverse questions."""
