"""Data to try things on.

>>> import distpriv as dp
>>> dp.datasets.adult().column_names[:4]
['age', 'workclass', 'fnlwgt', 'education']
"""

from distpriv.datasets.adult import adult

__all__ = ["adult"]
