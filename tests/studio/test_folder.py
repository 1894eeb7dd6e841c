"""What a studio offers of its folder, and what it writes into it."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.studio.drafts import draft
from tests.workflow.small import write_policy, write_tables

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidPolicy, InvalidSource
from distpriv.policy import read_policy
from distpriv.studio.draft import Draft
from distpriv.studio.folder import AS_WRITTEN, EMBEDDED, Folder


def of(**changes: object) -> Draft:
    return Draft.from_json(draft(**changes))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "census.csv").write_text("age,sex\n1,a\n2,b\n")
    return Folder.started(tmp_path, None)


def names(folder: Folder) -> list[str]:
    return [table["name"] for table in folder.tables()]


def test_tables_of_the_folder_are_offered_and_the_embedded_one(folder: Folder) -> None:
    (folder.place / "notes.txt").write_text("x")
    (folder.place / "sub").mkdir()
    (folder.place / "sub" / "more.csv").write_text("a\n1\n")
    (folder.place / ".hidden.csv").write_text("a\n1\n")
    assert names(folder) == [EMBEDDED, "census.csv"]
    assert folder.source("census.csv") == str(folder.place / "census.csv")


@pytest.mark.parametrize(
    "table", ["../census.csv", "/etc/passwd", "sub/more.csv", "./census.csv", "census.csv\0", "", "*.csv", AS_WRITTEN]
)
def test_no_other_table_can_be_named(folder: Folder, table: str) -> None:
    with pytest.raises(InvalidSource, match="is not a public table in the folder of this studio: choose one of those"):
        folder.source(table)


def test_a_link_that_leads_out_of_the_folder_is_not_offered(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.csv"
    outside.write_text("a\n1\n")
    os.symlink(outside, folder.place / "looks_public.csv")
    assert names(folder) == [EMBEDDED, "census.csv"]


def test_what_a_policy_names_as_private_is_never_offered_under_any_name(folder: Folder, adult: pa.Table) -> None:
    write_tables(folder.place, adult)
    write_policy(folder.place, ('private = "private.parquet"', 'private = "ward.parquet"'))
    (folder.place / "private.parquet").rename(folder.place / "ward.parquet")
    os.link(folder.place / "ward.parquet", folder.place / "copy.parquet")
    assert names(folder) == [EMBEDDED, "adult.parquet", "census.csv"]
    with pytest.raises(InvalidSource, match="choose one of those offered"):
        folder.source("copy.parquet")


def test_what_a_draft_names_as_private_is_not_offered_any_more(folder: Folder) -> None:
    folder.policy(of(private="census.csv"))
    assert names(folder) == [EMBEDDED]
    folder.policy(of(private="private-2.csv"))
    (folder.place / "private-2.csv").write_text("a\n1\n")
    assert names(folder) == [EMBEDDED]


@pytest.mark.parametrize(
    "path",
    ["../ward.csv", "/etc/passwd", "a/../../x.csv", "spark:local?path=x", "duckdb:a?table=b", "x\0y.csv", "../*.csv"],
)
def test_a_private_table_outside_of_the_folder_is_refused(folder: Folder, path: str) -> None:
    with pytest.raises(InvalidSource, match="the private table must be a file in the folder of this studio"):
        folder.policy(of(private=path))


@pytest.mark.parametrize("path", ["~/ward.csv", "~/*.csv", "link*/ward.csv", "*/ward.csv", "li?k.csv", "link.csv"])
def test_a_private_table_is_refused_where_what_would_be_opened_is_outside(
    folder: Folder, path: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "ward.csv").write_text("age,sex\n1,a\n")
    monkeypatch.setenv("HOME", str(outside))
    os.symlink(outside, folder.place / "linked")
    os.symlink(outside / "ward.csv", folder.place / "link.csv")
    with pytest.raises(InvalidSource, match="the private table must be a file in the folder of this studio"):
        folder.policy(of(private=path))


def test_a_private_table_may_be_a_pattern_or_below_home_where_its_files_are_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "ward [7]"
    place.mkdir()
    (place / "census.csv").write_text("age,sex\n1,a\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("cens*.csv", "~/ward [7]/census.csv"):
        folder = Folder.started(place, None)
        folder.policy(of(private=path))
        assert names(folder) == [EMBEDDED]


def test_a_private_table_that_was_moved_outside_after_the_confirmation_is_refused(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "ward.csv"
    outside.write_text("age,sex\n1,a\n")
    written = folder.write(of(private="ward*.csv"))
    os.symlink(outside, folder.place / "ward7.csv")
    with pytest.raises(InvalidSource, match="the private table must be a file in the folder of this studio"):
        folder.confirmed("policy.toml", written.digest)


@pytest.mark.parametrize(
    "text", ["[project]\nname = 'x'\n", "data = 3\n", "[data]\nprivate = ['a.csv']\n", f"a = {'[' * 5000}", "", "\0"]
)
def test_another_programs_toml_in_the_folder_changes_nothing(folder: Folder, text: str) -> None:
    (folder.place / "pyproject.toml").write_text(text)
    assert names(folder) == [EMBEDDED, "census.csv"]


def test_a_policy_file_is_what_the_command_line_reads(folder: Folder) -> None:
    written = folder.write(of())
    policy = read_policy(written.path)
    assert policy.query().names == ("age", "women")
    assert policy.target.delta == pytest.approx(0.1)
    assert policy.dataset == "ward-7"
    assert pq.read_table(folder.place / "adult.parquet").num_rows == 45_222
    assert folder.confirmed("policy.toml", written.digest).file.text == written.path.read_text()


def test_only_what_this_studio_wrote_is_replaced(folder: Folder) -> None:
    first = folder.write(of())
    second = folder.write(of(privacy={"epsilon": 1.0, "delta": 1e-3}))
    assert first.digest != second.digest
    with pytest.raises(InvalidInput, match="is not the policy that was confirmed: write it again"):
        folder.confirmed("policy.toml", first.digest)
    second.path.write_text("changed")
    with pytest.raises(InvalidInput, match="was changed since it was confirmed: write it again"):
        folder.confirmed("policy.toml", second.digest)
    with pytest.raises(InvalidInput, match="that this studio did not write or that was changed since"):
        folder.write(of())
    assert second.path.read_text() == "changed"
    assert Folder.started(folder.place, None).form()["file"] == "policy-2.toml"


@pytest.mark.parametrize(
    "name", ["../policy.toml", "/tmp/policy.toml", "a/b.toml", ".toml", "policy.txt", "", "x\0.toml"]
)
def test_a_policy_is_written_into_the_folder_itself(name: str) -> None:
    with pytest.raises(InvalidInput):
        of(file=name)


def test_another_file_of_the_embedded_tables_name_is_left_alone(folder: Folder) -> None:
    (folder.place / "adult.parquet").write_bytes(b"mine")
    with pytest.raises(InvalidInput, match=r"there is another file 'adult\.parquet' already, and it is left alone"):
        folder.write(of())
    assert (folder.place / "adult.parquet").read_bytes() == b"mine"
    assert not (folder.place / "policy.toml").exists()


def test_what_is_wrong_with_a_draft_is_said_and_nothing_is_written(folder: Folder) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"statistics": {"age": "mean(agee)"}}, r"the policy, line \d+, release\.statistics\.age: .*agee"),
        ({"statistics": {}}, "nothing is published yet: choose a mean, a count or a table"),
        ({"secret": {"share": "income = '>50K'", "values": [0.2]}}, "a share is hidden by"),
        ({"privacy": {"max_attack_accuracy": 0.5}}, r"privacy\.max_attack_accuracy"),
        ({"records": 0}, "the number of records"),
    ]
    for changes, sentence in wrong:
        with pytest.raises(InvalidInput, match=sentence):
            folder.policy(of(**changes)).model()
    assert sorted(file.name for file in folder.place.iterdir()) == ["census.csv"]


def test_an_example_has_as_many_rows_as_asked_for_and_a_share_in_the_middle(folder: Folder) -> None:
    assert folder.make_example(of()) == "private.parquet"
    rows = pq.read_table(folder.place / "private.parquet")
    assert rows.num_rows == 100
    assert rows["income"].to_pylist().count(">50K") == 25
    assert "private.parquet" not in names(folder)
    with pytest.raises(InvalidInput, match=r"there is a file 'private\.parquet' already, and it is left alone"):
        folder.make_example(of())


def test_an_opened_policy_keeps_what_the_form_does_not_show(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    path = write_policy(tmp_path)
    folder = Folder.started(tmp_path / "elsewhere", str(path))
    form = folder.form()
    assert form["table"] == AS_WRITTEN
    assert form["secret"] == {"share": "income = '>50K'", "values": [0.45, 0.55]}
    assert form["total"] == {"epsilon": 2.0, "delta": 0.02}
    changed = Draft.from_json({**form, "privacy": {"epsilon": 0.5, "delta": 0.01}})
    again = read_policy(folder.write(changed).path)
    before = read_policy(write_policy(tmp_path, name="as_it_was.toml"))
    assert again.target.epsilon == 0.5
    assert (again.private, again.reference, again.options, again.ledger) == (
        before.private, before.reference, before.options, before.ledger
    )  # fmt: skip


def test_an_opened_policy_keeps_its_comments_in_the_file_and_shows_none(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    path = write_policy(
        tmp_path, ("records = 100", "records = 100  # all of ward 7"), ("[[protect]]", "# why\n[[protect]]")
    )
    folder = Folder.started(tmp_path, str(path))
    changes = {
        "records": 60,
        "secret": {"share": "sex = 'Male'", "values": [0.4, 0.5]},
        "statistics": {"a": "mean(age)"},
    }
    changed = Draft.from_json({**folder.form(), **changes, "privacy": {"max_attack_accuracy": 0.6}, "total": None})
    written = folder.write(changed)
    text = written.path.read_text()
    for line in ("records = 60  # all of ward 7", "# why", 'private = "private.parquet"  # in ward 7'):
        assert line in text
    assert "ward 7" not in folder.shown_text(changed)
    assert written.policy.secrets() == [dp.Share("sex = 'Male'", values=(0.4, 0.5))]
    assert written.policy.query() == dp.Query(a=dp.mean("age"))
    assert written.policy.ledger.total == dp.PrivacyTarget.from_attack_accuracy(0.6)


def test_nothing_of_where_private_things_are_goes_to_the_page(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    (tmp_path / "private.parquet").rename(tmp_path / "ward-seven.parquet")
    path = write_policy(
        tmp_path, ("private.parquet", "ward-seven.parquet"), ("sqlite:///ledger.db", "sqlite:///hidden-ledger.db")
    )
    folder = Folder.started(tmp_path, str(path))
    shown = folder.shown_text(Draft.from_json(folder.form()))
    for text in (str(folder.tables()), str(folder.form()), shown):
        assert "ward-seven" not in text
        assert "hidden-ledger" not in text
    assert "ward-seven" in folder.text(Draft.from_json(folder.form()))


def test_a_policy_of_several_releases_is_not_opened(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    second = (
        '[[release]]\nname = "b"\nrecords = 100\n[release.statistics]\nhours = "mean(hours_per_week)"\n\n[[protect]]'
    )
    path = write_policy(tmp_path, ("[release]\n", '[[release]]\nname = "a"\n'), ("[[protect]]", second))
    with pytest.raises(
        InvalidInput, match="has several releases, and the studio shows one: plan them by distpriv plan"
    ):
        Folder.started(tmp_path, str(path))
    with pytest.raises(InvalidPolicy, match="there is no policy file"):
        Folder.started(tmp_path, str(tmp_path / "none.toml"))
