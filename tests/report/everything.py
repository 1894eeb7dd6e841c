"""A page that says a text wherever something can be said."""

import numpy as np

import distpriv as dp
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.densities import CaseDensities
from distpriv.report.figures import Picture, Profile, case_curves, option_errors, profile_curves
from distpriv.report.page import Audited, Cell, Fact, Notice, Page, Table

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
    rows: list[list[Cell | str]] = [[text, Cell(text, "fails")], [Cell(text, "good"), Cell(text, "strong")]]
    table = Table(header=[text, text], rows=rows, caption=text, align="lr", chosen=1)
    by = dp.table("count", by=["region", "sex"], levels={"region": ["north"], "sex": ["F", "M"]})
    released = ReleasedTable(name=text, table=by, rows=({"information": 0.5}, {"information": None}))
    certificate = Certificate(
        target=dp.PrivacyTarget(1),
        epsilon=1.0,
        delta=0.0,
        assurance="checked",
        theorem=text,
        evidence=tuple(
            Evidence.of(code, delta=0.1, pair=[text, text], method=text) for code in ("DP109", "DP201", "DP301")
        ),
    )
    notices = [Notice("good", text, text), Notice("bad", text, text), Notice("note", text)]
    return Page(
        released=True,
        title=text,
        subtitle=text,
        notices=notices,
        facts=[Fact(text, text, text)],
        tables=[(table, released)],
        numbers=table,
        definitions=[text],
        notes=[text],
        curves=pictures,
        attacker=[text],
        audited=Audited(notice=notices[0], table=table, note=text),
        certificates={text: certificate},
        readings=[(text, text, text)],
        why=text,
        options=table,
        others=[text],
        protected=[text],
        policy=text,
        ledger={"id": text, "number": 1, "head": text},
        position=1,
        footer=text,
    )


def drawn(text: str) -> list[Picture]:
    """Return every figure of a page, with a text wherever it may have one."""
    grid, epsilons = np.linspace(-3.0, 3.0, 50), np.array([0.0, 1.0, 2.0])
    densities = {text: np.exp(-(grid**2)), f"not {text}": np.exp(-((grid - 1) ** 2))}
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    plan = dp.plan(model, dp.PrivacyTarget(1, 0.01), mechanisms=["expected_value_gaussian", "no_noise"], processes=1)
    errors = option_errors(plan)
    assert errors is not None
    profile = Profile(epsilons=epsilons, without=np.array([0.4, 0.1, 0.0]), published=np.array([0.2, 1e-3, 0.0]))
    return [
        *case_curves(CaseDensities(grid=grid, before=densities, after=densities), (text, text)),
        profile_curves(profile, plan.target, text),
        errors,
    ]
