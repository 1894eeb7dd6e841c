"""Write docs/reference/evidence.md: every code of evidence, its title and what to do.

Usage: python scripts/evidence_page.py

All of it comes from the registry, src/distpriv/guarantees/evidence.toml.
"""

from pathlib import Path

from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.evidence_text import registry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "evidence.md"

INTRODUCTION = """\
# Evidence

What certificates rest on, by code. Every item of `certificate.evidence`, in Python and in `release.json`, has a code,
a status and typed facts. `distpriv explain CODE` prints the long text: what it means, and why it matters. Refusals have
codes of DP4xx: see [errors](errors.md). This page is made by `scripts/evidence_page.py` from the registry.

"""

HEADINGS = {"proved": "## Proved", "checked": "## Checked", "assumed": "## Assumed"}


def page() -> str:
    """Return the whole page."""
    parts = []
    for status, heading in HEADINGS.items():
        rows = [
            f"| {code} | {entry.title} | {' '.join(entry.cure.split())} |".replace("[", r"\[")
            for code, entry in registry().items()
            if Evidence.of(code).status == status
        ]
        parts.append("\n".join([heading, "", "| code | what | what to do |", "|---|---|---|", *rows, ""]))
    return INTRODUCTION + "\n".join(parts)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name} with {len(registry())} codes")


if __name__ == "__main__":
    main()
