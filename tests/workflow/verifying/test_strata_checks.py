import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import distpriv as dp
from distpriv.modelling.model import SampledStratum
from distpriv.workflow.verifying.strata_checks import joint_strata_problem, strata_problem


def made(query: dp.Query, **options: bool) -> dp.QueryModel:
    rng = np.random.default_rng(1)
    table = pa.table({"s": rng.random(500) < 0.4, "x": rng.normal(size=500), "y": rng.random(500)})
    return dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=20, draws=200, processes=1, **options)  # type: ignore[arg-type]


BOTH = dp.Query(x=dp.mean("x"), y=dp.mean("y"))


@pytest.mark.parametrize("query", [BOTH, dp.Query(m=dp.quantile("x", 0.5))])
def test_strata_as_they_are_made_have_no_problem(query: dp.Query) -> None:
    assert strata_problem(made(query)) is None


def changed(stratum: SampledStratum, how: str) -> SampledStratum:
    match how:
        case "one row more":
            return evolve(stratum, rows=stratum.rows + 1)
        case "no row":
            return evolve(stratum, rows=0)
        case "wider":
            return evolve(stratum, covariance=stratum.covariance * 1.001)
        case "lighter than normal":
            return evolve(stratum, kurtoses=np.full_like(stratum.kurtoses, 2.0))
        case "drawn otherwise":
            return evolve(stratum, drawn=dict.fromkeys(stratum.drawn, 3))
    return evolve(stratum, kind=f"{stratum.kind}!")


@pytest.mark.parametrize(
    ("query", "how"),
    [
        (query, how)
        for query in (BOTH, dp.Query(m=dp.quantile("x", 0.5)))
        for how in ("one row more", "no row", "wider", "lighter than normal", "drawn otherwise", "called otherwise")
        if how != "one row more" or query is BOTH  # draws of a median have no moments of rows
    ],
)
def test_a_stratum_that_is_not_that_of_the_moments_is_found(query: dp.Query, how: str) -> None:
    model = made(query)
    assert strata_problem(evolve(model, strata=(changed(model.strata[0], how), model.strata[1])))


def test_a_sample_has_strata_and_a_population_has_none() -> None:
    model = made(BOTH)
    assert strata_problem(evolve(model, strata=()))
    population = evolve(model.provenance, drawing=evolve(model.provenance.drawing, reference="population"))
    assert strata_problem(evolve(model, provenance=population))


@pytest.mark.parametrize("how", ["one row more", "wider", "lighter than normal"])
def test_all_releases_have_the_strata_of_each(how: str) -> None:
    whole, model = made(BOTH), made(dp.Query(y=dp.mean("y")))
    own = slice(1, 2)
    assert joint_strata_problem(model, whole, own) is None
    assert joint_strata_problem(evolve(model, strata=(changed(model.strata[0], how), model.strata[1])), whole, own)
    assert joint_strata_problem(model, evolve(whole, strata=()), own)
