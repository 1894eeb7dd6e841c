"""Data to try things on."""

from distpriv.datasets.adult import adult

__all__ = ["adult"]
