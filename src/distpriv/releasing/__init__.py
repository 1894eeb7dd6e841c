"""Answers that leave the house: drawn once, written down first, certified together with all earlier ones."""
