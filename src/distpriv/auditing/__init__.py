"""Attacks on releases, and what their success proves about the noise."""
