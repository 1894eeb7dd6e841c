"""Bundles in the formats of other programs, made on request; `verify` promises nothing about them."""
