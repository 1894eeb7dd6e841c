"""Measurements, printed as ratios taken in one run; `make bench` runs them."""
