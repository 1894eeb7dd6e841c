import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.errors import InvalidInput
from distpriv.experiments.result import Comparison, Result, compared
from distpriv.experiments.runs import EXPERIMENTS, run
from distpriv.experiments.setting import Setting

QUICK = ("table_1", "table_2", "table_3", "figure_5")
TINY = {"repetitions": 4, "subsets": 50, "shadows": 20, "tests": 20, "attackers": 4, "strong_repetitions": 2}


def written(result: Result) -> str:
    return json.dumps(result.to_dict(time=False), ensure_ascii=False)


@pytest.mark.parametrize("name", QUICK)
def test_a_result_is_read_back_as_it_was_written(name: str) -> None:
    found = run(name, Setting(protocol="paper", **TINY))
    read = Result.from_dict(json.loads(json.dumps(found.to_dict())))
    assert read == found
    assert read.seconds == found.seconds
    assert written(read) == written(found)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("table_2", "table_3", "figure_5")
    first = {name: written(run(name, Setting(protocol="paper", seed=7, **TINY))) for name in names}
    monkeypatch.setattr("distpriv.experiments.repetitions._known", {})
    again = {name: written(run(name, Setting(protocol="paper", seed=7, processes=1, **TINY))) for name in names}
    assert first == again
    other = {name: written(run(name, Setting(protocol="paper", seed=8, **TINY))) for name in names}
    assert all(other[name].replace('"seed": 8', '"seed": 7') != first[name] for name in names)


def test_times_are_kept_apart() -> None:
    found = run("table_1", Setting())
    assert found.seconds is not None
    assert "seconds" in found.to_dict()
    assert "seconds" not in found.to_dict(time=False)


@given(published=st.floats(0.1, 10), ours=st.floats(0.1, 10), error=st.floats(1e-2, 1), times=st.floats(0.1, 10))
def test_agreement_does_not_depend_on_the_unit(published: float, ours: float, error: float, times: float) -> None:
    one = Comparison(label="x", published=published, ours=ours, standard_error=error)
    other = Comparison(label="x", published=times * published, ours=times * ours, standard_error=times * error)
    assert one.z == pytest.approx(other.z, rel=1e-6, abs=1e-5)


def test_two_means_of_repetitions_differ_by_the_errors_of_both() -> None:
    exact = compared("x", 3.0, 1.0, 1.0, Setting(protocol="exact"))
    paper = compared("x", 3.0, 1.0, 1.0, Setting(protocol="paper"))
    assert exact.z == 2.0
    assert paper.z == pytest.approx(math.sqrt(2.0))


def test_three_standard_errors_are_the_limit() -> None:
    assert Comparison(label="x", published=4.0, ours=1.0, standard_error=1.0).agrees
    assert not Comparison(label="x", published=4.01, ours=1.0, standard_error=1.0).agrees


@pytest.mark.parametrize(
    ("name", "value"), [("protocol", "notebook"), ("seed", -1), ("repetitions", 1), ("subsets", 2.5), ("tests", 0)]
)
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        Setting(**{name: value})


def test_an_unknown_experiment_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="figure_7"):
        run("figure_7", Setting())
    assert "beyond" in EXPERIMENTS
