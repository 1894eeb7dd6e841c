"""The version, in a module that imports nothing.

>>> import distpriv as dp
>>> [part.isdigit() for part in dp.__version__.split(".")]
[True, True, True]
"""

__version__ = "0.2.0"
"""The version of distpriv, as text."""
