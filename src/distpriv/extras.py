"""What distpriv can do with more than its core installed, and the sentence that says what is missing.

An extra is a name in brackets, as in `pip install 'distpriv[audit]'`. Whoever needs one imports it inside of
`extra_needed`, so that its absence is one sentence with the command, and never a traceback.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Literal

from distpriv.errors import InvalidInput

__all__ = ["EXTRAS", "Extra", "extra_needed", "installed"]

Extra = Literal["audit", "spark", "postgres", "excel", "studio"]

EXTRAS: dict[Extra, tuple[str, str]] = {
    "audit": ("sklearn", "scikit-learn"),
    "spark": ("pyspark", "PySpark"),
    "postgres": ("psycopg", "Psycopg"),
    "excel": ("openpyxl", "openpyxl"),
    "studio": ("starlette", "Starlette"),
}
"""What each extra brings: the module that is imported, and the name that people know it by."""


def installed(extra: Extra) -> bool:
    """Return whether an extra can be imported."""
    try:
        import_module(EXTRAS[extra][0])
    except ImportError:
        return False
    return True


@contextmanager
def extra_needed(extra: Extra, what: str, refusal: type[InvalidInput] = InvalidInput) -> Iterator[None]:
    """Say what to install where an import inside fails.

    Args:
        extra: the name in brackets.
        what: what cannot be done without it, as a sentence begins.
        refusal: the error to raise.

    >>> with extra_needed("audit", "an audit"):
    ...     raise ImportError("No module named 'sklearn'")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: an audit needs scikit-learn, which is not installed here: pip install
    'distpriv[audit]'.
    """
    try:
        yield
    except ImportError as failure:
        raise refusal(
            f"{what} needs {EXTRAS[extra][1]}, which is not installed here: pip install 'distpriv[{extra}]'."
        ) from failure
