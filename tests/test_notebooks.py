"""What a notebook shows and keeps: pages, frames, pictures and pickles of plans, releases, audits and models."""

import pickle
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot as plt

import distpriv as dp
from distpriv.errors import InvalidInput, PrivateTableRefused
from distpriv.releasing.certified_laws import reference_digests

NASTY = "<script>alert(1)</script> & 'so'"
SECRET = dp.Share("income = '>50K'", values=(0.4, 0.6))
TARGET = dp.PrivacyTarget(2, 0.05)
QUICK = ["expected_value_gaussian", "no_noise", "group_privacy_gaussian"]


@pytest.fixture(scope="module")
def rows(adult: pa.Table) -> pa.Table:
    return adult.slice(0, 1500)


@pytest.fixture(scope="module")
def model(rows: pa.Table) -> dp.QueryModel:
    query = dp.Query({NASTY: dp.mean("hours_per_week"), "women": dp.count("sex = 'Female'")})
    return dp.model(rows, query, SECRET, records=30, reference="population")


@pytest.fixture(scope="module")
def plan(model: dp.QueryModel) -> dp.Plan:
    return dp.plan(model, TARGET, mechanisms=QUICK, processes=1)


@pytest.fixture(scope="module")
def release(plan: dp.Plan, adult: pa.Table) -> dp.Release:
    return dp.release(plan, adult.slice(3000, 30), ledger=None)


@pytest.fixture(scope="module")
def shown(model: dp.QueryModel, plan: dp.Plan, release: dp.Release) -> dict[str, Any]:
    report = dp.audit(plan.mechanism, model=model, attacks=["bayes"], releases=500, shadows=200)
    return {"model": model, "plan": plan, "release": release, "certificate": release.certificate, "audit": report}


class Tags(HTMLParser):
    """The tags of a text, each of which must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("what", ["model", "plan", "release", "certificate", "audit"])
def test_each_shows_itself_as_a_small_page_that_suits_light_and_dark(shown: dict[str, Any], what: str) -> None:
    html = shown[what]._repr_html_()
    found = Tags(html)
    assert len(html) < 30_000
    assert not {tag for tag, _ in found.seen} & {"script", "link", "img", "iframe", "svg"}
    assert not re.search(r"#[0-9a-f]{3,6}|rgb\(|(?<!-)color:(?!inherit)", html)  # only the page's own colours
    for tag, attributes in found.seen:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
        assert tag != "th" or attributes.get("scope") in ("row", "col")
    if what in ("model", "release"):
        assert NASTY in found.text


def test_a_notebook_shows_the_parts_of_the_page(plan: dp.Plan, release: dp.Release, tmp_path: Path) -> None:
    pages = {
        plan._repr_html_(): plan.report(tmp_path / "plan.html"),
        release._repr_html_(): release.save(tmp_path / "release") / "report.html",
    }
    for shown, file in pages.items():
        page = file.read_text(encoding="utf-8")
        tables = re.findall(r'<figure class="table">.*?</figure>', shown, flags=re.DOTALL)
        assert tables
        assert all(table in page for table in tables)
    title = re.findall("<strong>.*?</strong>", release._repr_html_())
    assert title == re.findall("<strong>.*?</strong>", (tmp_path / "release" / "report.html").read_text("utf-8"))


def test_the_page_of_a_plan_names_the_choice(plan: dp.Plan) -> None:
    found = Tags(plan._repr_html_())
    assert plan.chosen is not None
    assert plan.chosen.name in found.text


def test_frames_hold_what_the_rows_do(plan: dp.Plan, release: dp.Release, shown: dict[str, Any]) -> None:
    frame = plan.to_frame()
    assert list(frame.index) == [option.name for option in plan.options]
    assert frame["chosen"].sum() == 1
    assert frame.loc[frame["chosen"], "keeps_target"].all()
    assert frame["estimate"].tolist() == [option.estimate_error for option in plan.options]
    assert shown["audit"].to_frame().loc["bayes", "accuracy"] == shown["audit"].attacks[0].accuracy
    assert list(release.to_frame().index) == list(release.values)


def test_a_plan_without_options_has_a_frame_without_rows_and_says_what_does_not_apply(
    model: dp.QueryModel, tmp_path: Path
) -> None:
    empty = dp.plan(model, dp.PrivacyTarget(1), mechanisms=["expected_value_gaussian"], processes=1)
    assert empty.options == ()
    assert len(empty.to_frame()) == 0
    (refusal,) = empty.refusals
    assert (refusal.name, refusal.reason.partition(":")[0]) == (
        "expected_value_gaussian",
        "Gaussian noise cannot reach delta = 0",
    )
    assert "no mechanism is certified" in empty.report(tmp_path / "plan.html").read_text(encoding="utf-8")


def test_pictures_are_drawn_where_they_are_asked_for(plan: dp.Plan, release: dp.Release) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    assert plan.plot(left) is left
    assert release.plot(right) is right
    legend = left.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert "chosen" in labels
    plt.close(figure)


def test_a_plan_writes_a_page_and_says_where_it_cannot(plan: dp.Plan, tmp_path: Path) -> None:
    page = plan.report(tmp_path / "plan.html")
    text = page.read_text(encoding="utf-8")
    assert plan.chosen is not None
    for said in ("nothing is released yet", plan.chosen.name, "public mean"):
        assert said in text
    with pytest.raises(InvalidInput, match="cannot be written"):
        plan.report(tmp_path / "no such folder" / "plan.html")


def test_a_model_comes_out_of_a_pickle_with_its_rows_and_draws_the_same(model: dp.QueryModel) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert reference_digests(again) == reference_digests(model)
    scenario = next(iter(model.distributions))
    assert np.array_equal(again.samples(scenario, 20, 7), model.samples(scenario, 20, 7))
    one, other = (each.coupled_samples(model.protected_pairs[0], 10, 3) for each in (model, again))
    assert np.array_equal(one, other)


def test_a_plan_comes_out_of_a_pickle_as_it_was_and_plans_the_same_again(plan: dp.Plan) -> None:
    again = pickle.loads(pickle.dumps(plan))
    assert str(again) == str(plan)
    assert again.to_dict() == plan.to_dict()
    anew = dp.plan(again.model, TARGET, mechanisms=QUICK, processes=1)
    assert anew.to_dict() == plan.to_dict()  # the rows are looked at again, not believed


def test_a_pickle_keeps_the_rows_of_a_file_as_they_were(rows: pa.Table, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(rows, file)
    made = dp.model(file, dp.Query(hours=dp.mean("hours_per_week")), SECRET, records=30)
    kept, digests = pickle.dumps(made), reference_digests(made)
    pq.write_table(rows.slice(0, 700), file)
    again = pickle.loads(kept)
    assert reference_digests(again) == digests
    assert again.distributions == made.distributions


def test_what_no_pickle_can_hold_says_so_itself() -> None:
    query = dp.Query(middle=dp.function(lambda columns: float(np.median(columns["age"])), columns=["age"]))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(query)


@pytest.mark.parametrize(
    "odd", [[1 + 2j] * 30, [object()] * 30, [[1, "x"]] * 30, [1, "x", None] * 10, pd.period_range("2020", periods=30)]
)
def test_an_odd_column_that_nothing_asks_for_is_no_reason_to_refuse_a_frame(
    plan: dp.Plan, adult: pa.Table, odd: Any
) -> None:
    frame = adult.slice(3000, 30).to_pandas()
    frame["odd"] = odd
    assert dp.release(plan, frame, ledger=None).values.keys() == {NASTY, "women"}


def test_names_that_sql_cannot_tell_apart_matter_only_where_they_are_asked_for(plan: dp.Plan, adult: pa.Table) -> None:
    frame = adult.slice(3000, 30).to_pandas()
    assert dp.release(plan, frame.assign(AGE=1), ledger=None).values.keys() == {NASTY, "women"}
    with pytest.raises(PrivateTableRefused):
        dp.release(plan, frame.assign(SEX="Female"), ledger=None)


def test_a_target_is_written_in_short() -> None:
    assert dp.PrivacyTarget(1, 1e-3) == dp.PrivacyTarget(epsilon=1.0, delta=0.001)
    assert dp.PrivacyTarget(0.5).delta == 0.0


def test_importing_the_library_and_its_command_loads_nothing_heavy() -> None:
    heavy = ("pandas", "matplotlib", "duckdb", "pyarrow", "numpy", "scipy")
    code = f"import sys, distpriv, distpriv.cli.app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
