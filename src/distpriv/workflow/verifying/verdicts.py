"""What `verify` finds of a bundle, and what no bundle can show."""

from typing import Any

from attrs import asdict, frozen

from distpriv.framework.display import counted, hanging

__all__ = ["NOT_CHECKED", "Check", "NotChecked", "Verdict"]


@frozen(kw_only=True)
class NotChecked:
    """One thing that a bundle cannot show."""

    name: str
    what: str


NOT_CHECKED = tuple(
    NotChecked(name=name, what=what)
    for name, what in {
        "values": "that the values are those that were drawn",
        "private table": "that the private table was the one meant, with its rows as assumed",
        "moments": "that moments, cells of rows, labels and empty cells of tables, steps not declared and what one "
        "record can do are those of the reference",
        "certificates": "that the ledger has these certificates: it has others, as the question was asked again, for "
        "other pairs or another target, or after later releases",
        "law": "that the rows of the reference show what the certificates say of the law beyond its moments",
        "draws": "that coupled draws are all that were made, of the reference, with bets and a seed that others chose",
        "earlier releases": "that earlier releases asked what is written and had that noise and those answers",
        "ledger": "that the ledger holds this release at this position and time: give --ledger URL",
        "report.html": "what report.html says: it is the file that was written, if digests fit",
        "attacks": "that the attacks in audit.json came out as written",
        "other files": "the other files of the bundle, as release.json was given by itself",
        "versions": "that these versions of distpriv and its libraries were used",
    }.items()
)
"""All that may be left unchecked; a verdict has those of its bundle."""


@frozen(kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    found: str


@frozen(kw_only=True)
class Verdict:
    """What was found of a bundle."""

    path: str
    checks: tuple[Check, ...]
    not_checked: tuple[NotChecked, ...] = NOT_CHECKED
    """What the bundle cannot show."""

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked holds."""
        return all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        failed = next((check for check in self.checks if not check.passed), None)
        if failed is None:
            return f"{self.path}: the certificates hold, recomputed from the bundle alone."
        return f"{self.path} is not certified: {failed.found}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as text and truth values."""
        return {
            "holds": self.holds,
            "verdict": self.sentence,
            "checks": [asdict(check) for check in self.checks],
            "not_checked": [asdict(item) for item in self.not_checked],
        }

    def text(self, detail: int = 0) -> str:
        """Return what was found: what failed, and how much was checked; detail 1 lists every check and its finding."""
        failed = [check for check in self.checks if not check.passed]
        passed = [check for check in self.checks if check.passed]
        word = "VERIFIED" if self.holds else "NOT VERIFIED"
        lines = [f"{word}  {self.path} · {len(passed)} of {counted(len(self.checks), 'check')} passed", ""]
        lines += [hanging(f"failed: {check.name}: {check.found}") for check in failed]
        if detail:
            lines += [hanging(f"ok: {check.name}: {check.found}") for check in passed]
            lines += [hanging(f"on trust: {item.name}: {item.what}") for item in self.not_checked]
        else:
            lines.append(hanging(f"recomputed: {', '.join(check.name for check in passed)}"))
            lines.append(hanging(f"taken on trust (-v): {', '.join(item.name for item in self.not_checked)}"))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()
