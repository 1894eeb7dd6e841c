"""What `distpriv init` does: a first policy, in a new file."""

import os
from pathlib import Path

from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput
from distpriv.workflow.initial import initial_policy

__all__ = ["write_policy"]


def write_policy(path: str | os.PathLike[str], source: str | None = None) -> Path:
    """Write a commented policy into a new file, with the columns of a reference table if one is given."""
    target = Path(path).expanduser()
    if os.path.lexists(target):
        raise InvalidInput(f"there is a file {str(path)!r} already, and it is left alone: give another name.")
    reference = None if source is None else source_name(source).told_from(target.parent).text
    text = initial_policy(source, reference=reference)
    try:
        with open(target, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as failure:
        raise InvalidInput(
            f"the policy file {str(path)!r} cannot be written ({failure.strerror or failure}): give another path."
        ) from failure
    return target
