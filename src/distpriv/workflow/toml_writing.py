"""Keys and text as TOML writes them."""

import json
import re

__all__ = ["toml_key", "toml_string"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_string(text: str) -> str:
    r"""Return a text in quotes, on one line whatever is in it.

    >>> print(toml_string('say "é"\n'))
    "say \"é\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them.

    >>> print(toml_key("age"), toml_key("age in years"))
    age "age in years"
    """
    return key if _BARE.fullmatch(key) else toml_string(key)
