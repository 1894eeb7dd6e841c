"""Write docs/reference/evidence.md: every code of evidence and of refusals, what it means and what to do.

Usage: python scripts/evidence_page.py

All of it comes from the registry, src/distpriv/guarantees/evidence.toml, and the docstrings of distpriv.errors.
"""

from pathlib import Path
from textwrap import fill

from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.evidence_text import refusals, registry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "evidence.md"

INTRODUCTION = """\
# Evidence

What certificates rest on, by code. A certificate has a list of evidence, each with a code, a status and typed facts:
`certificate.evidence` in Python, `certificate.evidence` in `release.json`. Codes of DP1xx are proved, those of DP2xx
were checked on the model, and those of DP3xx have to be assumed. Refusals have codes of DP4xx, as `error.code`; the
[errors](errors.md) page has an example of each. This page is made by `scripts/evidence_page.py` from the registry.

"""

HEADINGS = {"proved": "## Proved", "checked": "## Checked", "assumed": "## Assumed"}


def page() -> str:
    """Return the whole page."""
    parts = []
    for status, heading in HEADINGS.items():
        parts.append(f"{heading}\n")
        for code, entry in registry().items():
            if Evidence.of(code).status == status:
                numbers = "".join(f"\n- `{detail}`" for detail in entry.details)
                parts += [
                    f"### {code}: {entry.title}\n",
                    f"`{entry.sentence}`\n",
                    *([f"With the numbers, where there are any:\n{numbers}\n"] if numbers else []),
                    f"{_wrapped(entry.explanation)}\n",
                    f"{_wrapped(f'**What to do:** {entry.cure}')}\n",
                ]
    rows = [
        f"| {code} | [`{error.__name__}`](errors.md#{error.__name__.lower()}) |" for code, error in refusals().items()
    ]
    table = "\n".join(["| code | error |", "|---|---|", *sorted(rows)])
    return INTRODUCTION + "\n".join([*parts, f"## Refused\n\n{table}\n"])


def _wrapped(text: str) -> str:
    return fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {PAGE.name} with {len(registry())} codes")


if __name__ == "__main__":
    main()
