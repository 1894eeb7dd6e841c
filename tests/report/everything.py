"""A page that says a text wherever something can be said."""

import numpy as np

import distpriv as dp
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.densities import CaseDensities
from distpriv.report.figures import Picture, case_curves
from distpriv.report.page import Fact, Line, Page, Table

__all__ = ["NASTY", "drawn", "page_saying"]

NASTY = (
    "<script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "say \"<b>&amp;</b>\" & 'run'",
    "$x_1^2$ and \\alpha",
    "]]><!-- {{ page.title }}{% raw %}",
    "高所得者の割合",
    "доля замужних",
    "نسبة الدخل",
    "a-name-without-a-space-" * 6,
)


def page_saying(text: str, *pictures: Picture) -> Page:
    """Return a page with everything that a page can have."""
    table = Table(header=[text, text], rows=[[text, text], [text, text]], caption=text, strong=1)
    by = dp.table("count", by=["region", "sex"], levels={"region": ["north"], "sex": ["F", "M"]})
    released = ReleasedTable(name=text, table=by, rows=({"information": 0.5}, {"information": None}))
    line = Line("DP201", text, text)
    return Page(
        released=True,
        title=text,
        subtitle=text,
        mark="doubt",
        verdict=text,
        text=text,
        facts=[Fact(text, text, text)],
        numbers=table,
        tables=[(table, released)],
        note=text,
        more=[table],
        definitions=[text],
        curves=pictures,
        attacker=[text],
        measured=[Line("", text, text)],
        attacks=table,
        checked=[line],
        declared=[line],
        theorems=[text],
        readings=table,
        options=table,
        others=[text],
        policy=text,
        ledger={"id": text, "number": 1, "head": text},
        position=1,
        footer=text,
    )


def drawn(text: str) -> list[Picture]:
    """Return every figure of a page, with a text wherever it may have one."""
    grid = np.linspace(-3.0, 3.0, 50)
    densities = {text: np.exp(-(grid**2)), f"not {text}": np.exp(-((grid - 1) ** 2))}
    return [*case_curves(CaseDensities(grid=grid, before=densities, after=densities), (text, text))]
