"""Policies that must be refused, by name: their text, and what is said of each.

`WRONG` are refused when they are read, `WRONG_FOR_ADULT` when they meet the Adult data as the reference.
"""

from collections.abc import Iterator

RIGHT = """\
[data]
reference = "adult.parquet"
private = "hospital.parquet"
id = "hospital-2026"

[release]
records = 100

[release.statistics]
age = "mean(age)"
never_married = "count(marital_status = 'Never-married')"

[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 1e-3
assurance = "checked"

[ledger]
url = "sqlite:///ledger.db"
epsilon = 2.0
delta = 2e-3
"""


def changed(*edits: tuple[str, str], text: str = RIGHT) -> str:
    """Return the right policy with some of its text replaced, each at its first place."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def with_statistic(text: str) -> str:
    """Return the right policy with one statistic replaced, in quotes that hold anything."""
    return changed(('"mean(age)"', f"'''{text}'''"))


def with_table(body: str) -> str:
    """Return the right policy with a table beside its statistics."""
    return changed(("[[protect]]", f"[release.tables.people]\n{body}\n\n[[protect]]"))


def with_protect(body: str) -> str:
    """Return the right policy with another body of its [[protect]]."""
    return changed(("share = \"income = '>50K'\"\nvalues = [0.45, 0.55]\n", body))


def _shape() -> Iterator[tuple[str, str, str]]:
    yield "empty file", "", "data: this is missing: add a table that begins with [data]"
    yield "no TOML", "data = [", "line 1: this is no TOML: invalid value"
    blank = changed(("[release]\n", '[release]\nlicense = " "\n'))
    yield "a blank licence", blank, "release.license: a licence is named by a line of text"
    yield "no equals sign", changed(("records = 100", "records 100")), "line 7: this is no TOML: expected '='"
    yield "quote not closed", changed(('id = "hospital-2026"', 'id = "hospital')), "line 4: this is no TOML"
    yield "key twice", changed(("epsilon = 1.0", "epsilon = 1.0\nepsilon = 2.0")), "line 19: this is no TOML"
    yield "table twice", RIGHT + "[data]\n", "line 26: this is no TOML"
    yield "JSON", '{"data": {}}', "line 1: this is no TOML"
    yield "nested too deeply", "a = " + "[" * 100_000, "nested too deeply"
    yield "misspelt key", changed(("epsilon = 1.0", "epsilom = 1.0")), "line 18, privacy.epsilom: there is no such key"
    yield "misspelt table", changed(("[privacy]", "[privcy]")), "did you mean 'privacy'?"
    yield "key of another table", changed(("epsilon = 1.0", "records = 100")), "it belongs in [release]"
    yield "key at the top", "epsilon = 1\n" + RIGHT, "line 1, epsilon: there is no such key here: it belongs in"
    yield "statistics at the top", changed(("[release.statistics]", "[statistics]")), "it belongs in [release]"
    yield "unknown key of the ledger", changed(("url =", "adress =")), "there are: url, epsilon, delta"
    yield "unknown key of protect", with_protect("shares = 'x > 1'"), "line 14, protect.shares: there is no such key"
    yield "unknown key of the model", RIGHT + "[model]\ndrws = 3\n", "did you mean 'draws'?"
    yield "no id", changed(('id = "hospital-2026"\n', "")), 'line 1, data.id: this is missing: add id = "hospital'
    yield "no records", changed(("records = 100\n", "")), "release.records: this is missing: add records = 100"
    yield "no privacy", RIGHT.partition("[privacy]")[0], "privacy: this is missing: add a table"
    yield "no protect", changed(("[[protect]]", "[model]"), ("share", "#"), ("values", "#")), "protect: this is missing"
    yield "protect in one bracket", changed(("[[protect]]", "[protect]")), "line 13, protect: it can be there several"
    yield "records as text", changed(("= 100", '= "100"')), "must be a whole number, got '100'"
    yield "records with a fraction", changed(("= 100", "= 99.5")), "must be a whole number, got 99.5"
    yield "records as a truth", changed(("= 100", "= true")), "must be a whole number, got true"
    yield "epsilon as text", changed(("epsilon = 1.0", 'epsilon = "one"')), "line 18, privacy.epsilon: this must be a n"
    yield "delta as a truth", changed(("delta = 1e-3", "delta = false")), "must be a number, got false"
    yield "a date for an id", changed(('"hospital-2026"', "2026-01-01")), "must be text in quotes, got 2026-01-01"
    yield (
        "data as text",
        "data = 'x'\n" + RIGHT.partition("[release]")[2],
        "data: this must be a table, got 'x': write a table",
    )
    yield "statistic as a number", changed(('"mean(age)"', "3")), "line 10, release.statistics.age: this must be text"
    yield "statistics as a list", changed(("[release.statistics]", "[[release.statistics]]")), "must be a table"
    yield "values as text", changed(("[0.45, 0.55]", '"0.45"')), "protect.values: this must be a list"
    yield "a value as text", changed(("0.55]", '"0.55"]')), "line 15, protect.values[2]: this must be a number"
    yield (
        "a reference of its own kind",
        RIGHT + '[model]\nreference = "all"\n',
        "'sample' or 'population', got 'all'",
    )
    yield "replacement as text", RIGHT + "[model]\nreplacement = 'yes'\n", "must be true or false, got 'yes'"


def _statistics() -> Iterator[tuple[str, str, str]]:
    texts = {
        "no statistic": ("age", "is no statistic"),
        "empty statistic": ("", "is no statistic"),
        "unknown statistic": ("meen(age)", "did you mean 'mean'?"),
        "SQL's word": ("avg(age)", "did you mean 'mean'?"),
        "median": ("median(age)", "did you mean 'quantile(…, 0.5)'?"),
        "maximum": ("max(age)", "there are: mean, total, count"),
        "Python function": ("function(len)", "is Python code"),
        "nothing to compute": ("mean()", "has nothing to compute"),
        "only blanks to compute": ("count(  )", "has nothing to compute"),
        "not closed": ("mean(age", "lacks a ')'"),
        "closed too often": ("mean(age))", "goes on behind its end with ')'"),
        "crossed brackets": ("mean((age])", "has a ']' that closes nothing"),
        "two statistics": ("mean(age) + mean(age)", "goes on behind its end"),
        "quote not closed in a statistic": ("count(sex = 'Male)", "has a quote ' that is not closed"),
        "comment in a statistic": ("mean(age -- of all\n)", "has a comment"),
        "dollar quotes": ("count(sex = $$Male$$)", "unusual quotes"),
        "escape string": ("count(sex = E'Male')", "unusual quotes"),
        "two conditions": ("count(age > 3, age < 9)", "join several by AND"),
        "unknown option": ("mean(age, resolutoin = 1)", "did you mean 'resolution'?"),
        "option of another": ("variance(age, bounds = (1, 2))", "variance has no option 'bounds'"),
        "no option": ("mean(age, 3)", "options are given as bounds = …"),
        "option twice": ("mean(age, resolution = 1, resolution = 2)", "says resolution twice"),
        "option first": ("mean(resolution = 1)", "begins with an option"),
        "option no number": ("mean(age, resolution = one)", "has 'one' for resolution"),
        "resolution of nothing": ("mean(age, resolution = 0)", "resolution must be above 0, got 0"),
        "one bound": ("mean(age, bounds = 17)", "bounds must be two numbers"),
        "bounds the wrong way": ("mean(age, bounds = (90, 17))", "bounds must ascend"),
        "three bounds": ("mean(age, bounds = [1, 2, 3])", "bounds must be two numbers"),
        "infinite bound": ("mean(age, bounds = (0, 1e999))", "a bound must be a finite number"),
        "no level": ("quantile(age)", "does not say which quantile"),
        "level in percent": ("quantile(age, 50)", "the level of a quantile must be at least 0 and at most 1"),
        "level as text": ("quantile(age, half)", "has 'half' for level"),
    }
    for name, (text, message) in texts.items():
        yield name, with_statistic(text), message
    no_lines = changed(('age = "mean(age)"\nnever_married = "count(marital_status = \'Never-married\')"\n', ""))
    yield "no statistics", no_lines, "line 9, release.statistics: there is nothing to release"
    yield "name of blanks", changed(("age =", '" " =')), "a statistic needs a name"
    yield "name with a line break", changed(("age =", '"a\\nb" =')), "a statistic needs a name"
    one = changed(("= 100", "= 1"), ("mean(age)", "variance(age)"))
    yield "variance of one record", one, "a variance needs at least 2 records, got 1"


def _tables() -> Iterator[tuple[str, str, str]]:
    yield "table by nothing", with_table("count = true"), "release.tables.people.by: this is missing: add by = ["
    yield "table of nothing", with_table("by = ['sex']"), "a table is of one thing, and here of nothing"
    yield "table of two things", with_table("by = ['sex']\ncount = true\nmean = 'age'"), "here of count and mean"
    yield "no levels", with_table("by = ['sex']\ncount = true\nlevels = {sex = []}"), "a list that is not empty"
    yield "levels of no column", with_table("by = ['sex']\ncount = true\nlevels = {sx = ['F']}"), "did you mean 'sex'?"
    yield "other of nothing", with_table("by = ['sex']\ncount = true\nother = true"), 'write levels = {sex = ["F"]}'
    yield "median by group", with_table("by = ['sex']\nmedian = 'age'"), "there is no such key: did you mean 'mean'?"
    yield "none expected", with_table("by = ['sex']\ncount = true\nmin_expected = 0"), "min_expected must be above 0"
    yield (
        "too many expected",
        with_table("by = ['sex']\ncount = true\nmin_expected = 90"),
        "give a smaller min_expected",
    )
    yield "quantile of no level", with_table("by = ['sex']\nquantile = 'age'"), "a level says which quantile"
    yield "level of a mean", with_table("by = ['sex']\nmean = 'age'\nlevel = 0.5"), "a level says which quantile"
    yield "level above 1", with_table("by = ['sex']\nquantile = 'age'\nlevel = 2"), "the level of a quantile must be"
    yield (
        "table named as a statistic",
        changed(("[[protect]]", "[release.tables.age]\nby = ['sex']\ncount = true\n\n[[protect]]")),
        "a statistic is named 'age' too",
    )


def _secrets() -> Iterator[tuple[str, str, str]]:
    share = "share = \"income = '>50K'\"\n"
    bodies = {
        "empty protect": ("", "line 13, protect: this has neither a share, a mean, a quantile, a correlation, a shift"),
        "mean and share": (share + "mean = 'age'\nvalues = [38, 42]", "this has both a share and a mean: give one of"),
        "mean alone": ("mean = 'age'", "a mean goes with values = [38, 42] alone, or with between = [36, 44]"),
        "mean without a step": ("mean = 'age'\nbetween = [36, 44]\nwithin = 2", "here with between and within"),
        "blank mean": ("mean = ' '\nvalues = [38, 42]", 'protect.mean: a mean needs a number in SQL: write mean = "'),
        "mean with a level": ("mean = 'age'\nvalues = [38, 42]\nlevel = 0.5", "this does not go with a mean: take"),
        "mean as a list": ("mean = ['age']\nvalues = [38, 42]", "protect.mean: this must be text in quotes"),
        "one mean": ("mean = 'age'\nvalues = [38]", "line 15, protect.values: values must be at least two different"),
        "step too large": ("mean = 'age'\nbetween = [36, 44]\nwithin = 1\nstep = 2", "give a smaller step"),
        "step of values": (share + "values = [0.3, 0.7]\nstep = 0.1", "and here with values and step"),
        "step between records": (
            share + "between = [0.3, 0.7]\nwithin = 0.1\nstep = 0.015",
            "is no whole number of 100",
        ),
        "positives and values": (
            share + "values = [0.3, 0.7]\npositives = [30, 70]",
            "and here with values and positives",
        ),
        "positives of a mean": ("mean = 'age'\nvalues = [30, 40]\npositives = [30, 70]", "does not go with a mean"),
        "more positives than records": (share + "positives = [30, 700]", "700 of 100 records cannot satisfy"),
        "the nearest number": (share + "positives = [30, 70]\nnearest = true", "goes with values, or with a step"),
        "the nearest mean": ("mean = 'age'\nvalues = [30, 40]\nnearest = true", "does not go with a mean"),
        "two shares that are one": (share + "values = [0.3, 0.301]\nnearest = true", "is the same number"),
        "half a positive": (share + "positives = [30, 70.5]", "must be a whole number"),
        "quantile without a level": ("quantile = 'age'\nvalues = [38, 42]", "a quantile needs a level, the share of"),
        "a level above 1": (
            "quantile = 'age'\nlevel = 2\nvalues = [38, 42]",
            "the level of a quantile must be above 0",
        ),
        "correlation of one": ("correlation = ['age']\nvalues = [0, 0.1]", "a correlation needs two numbers in SQL"),
        "correlation above 1": ("correlation = ['a', 'b']\nvalues = [0, 1.1]", "must be above -1 and below 1, got 1.1"),
        "share and scenarios": (share + "scenarios = {a = 'a.csv', b = 'b.csv'}", "both a share and scenarios"),
        "share alone": (share, "here with none of them"),
        "values and between": (share + "values = [0.1, 0.2]\nbetween = [0.1, 0.2]", "here with values and between"),
        "between alone": (share + "between = [0.1, 0.2]", "here with between"),
        "within alone": (share + "within = 0.2", "here with within"),
        "share with pairs": (share + "values = [0.1, 0.2]\npairs = [['a', 'b']]", "this does not go with a share"),
        "blank share": ("share = ' '\nvalues = [0.1, 0.2]", "protect.share: a share needs a condition"),
        "share in percent": (share + "values = [45, 55]", "protect.values: a share must be at least 0 and at most 1"),
        "share below 0": (share + "values = [-0.1, 0.5]", "a share must be at least 0"),
        "share not a number": (share + "values = [nan, 0.5]", "got nan"),
        "one value": (share + "values = [0.5]", "values = [0.45, 0.55]"),
        "same values": (share + "values = [0.5, 0.5]", "at least two different shares"),
        "no values": (share + "values = []", "at least two shares"),
        "unattainable share": (share + "values = [0.455, 0.55]", "100 records cannot have a share of 0.455"),
        "range the wrong way": (share + "between = [0.7, 0.3]\nwithin = 0.1", "line 15, protect.between: between must"),
        "range of three": (share + "between = [0.1, 0.2, 0.3]\nwithin = 0.1", "between must be two shares"),
        "within too large": (share + "between = [0.3, 0.7]\nwithin = 10", "line 16, protect.within: within must be"),
        "within too small": (share + "between = [0.3, 0.7]\nwithin = 0.001", "no two shares that 100 records"),
        "one scenario": ("scenarios = {boom = 'a.csv'}", "two scenarios at least"),
        "scenario as a number": ("scenarios = {boom = 1, bust = 2}", "protect.scenarios.boom: this must be text"),
        "scenarios with values": (
            "scenarios = {boom = 'a.csv', bust = 'b.csv'}\nvalues = [0.1, 0.2]",
            "protect.values: this does not go with scenarios",
        ),
        "unknown scenario": (
            "scenarios = {boom = 'a.csv', bust = 'b.csv'}\npairs = [\n  ['boom', 'bust'],\n  ['boom', 'bus'],\n]",
            "line 17, protect.pairs[2]: pairs names an unknown scenario 'bus': did you mean 'bust'?",
        ),
        "scenario against itself": (
            "scenarios = {boom = 'a.csv', bust = 'b.csv'}\npairs = [['boom', 'boom']]",
            "protects a scenario from itself",
        ),
        "pair of three": (
            "scenarios = {boom = 'a.csv', bust = 'b.csv'}\npairs = [['boom', 'bust', 'boom']]",
            'write ["boom", "bust"]',
        ),
        "no pairs": ("scenarios = {boom = 'a.csv', bust = 'b.csv'}\npairs = []", "there is no protected pair"),
        "scenario from Spark": (
            "scenarios = {boom = 'spark:boom', bust = 'b.csv'}",
            "'spark:boom' does not name a path or a table",
        ),
        "private scenario": ("scenarios = {boom = 'hospital.parquet', bust = 'b.csv'}", "is also a public one here"),
    }
    for name, (body, message) in bodies.items():
        yield name, with_protect(body + "\n"), message
    yield "second protect", RIGHT + "[[protect]]\nshare = 'a'\nvalues = [2, 3]\n", "line 28, protect[2].values: a share"
    many = changed(("= 100", "= 100000"), ("values = [0.45, 0.55]", "between = [0, 1]\nwithin = 0.5"))
    yield "too many pairs", many, "or the shares to keep apart as values = […] instead"
    yield (
        "protect as an empty list",
        "protect = []\n" + with_protect("").replace("[[protect]]\n", ""),
        "nothing is prot",
    )


def _targets() -> Iterator[tuple[str, str, str]]:
    both = "epsilon = 1.0\nmax_attack_accuracy = 0.6"
    accuracy = ("epsilon = 1.0\ndelta = 1e-3", "max_attack_accuracy = 0.6\ndelta = 0.3")
    edits = {
        "both targets": ([("epsilon = 1.0", both)], "line 19, privacy.max_attack_accuracy: [privacy] asks for"),
        "no target": ([("epsilon = 1.0\ndelta = 1e-3", "")], "line 17, privacy: this does not say how private"),
        "negative epsilon": ([("epsilon = 1.0", "epsilon = -1")], "line 18, privacy.epsilon: epsilon must be at least"),
        "infinite epsilon": ([("epsilon = 1.0", "epsilon = inf")], "got inf"),
        "delta of 1": ([("delta = 1e-3", "delta = 1")], "line 19, privacy.delta: delta must be at least 0 and below 1"),
        "nothing allowed": ([("epsilon = 1.0\ndelta = 1e-3", "epsilon = 0")], "asks for answers that do not depend"),
        "blind attackers": ([("epsilon = 1.0\ndelta = 1e-3", "max_attack_accuracy = 0.5")], "attack accuracy must be"),
        "attackers in percent": ([("epsilon = 1.0\ndelta = 1e-3", "max_attack_accuracy = 60")], "got 60"),
        "delta above the accuracy": ([accuracy], "line 19, privacy.delta: delta = 0.3 alone lets an attacker"),
        "unknown assurance": (
            [('"checked"', '"gauss"')],
            "line 20, privacy.assurance: assurance must be 'proved' or 'checked'",
        ),
        "weight of an unknown statistic": (
            [('assurance = "checked"', "weights = {agee = 2}")],
            "line 20, privacy.weights.agee: there is no statistic 'agee' to weigh: did you mean 'age'?",
        ),
        "unknown rule for audits": (
            [('assurance = "checked"', 'audit = "always"')],
            "line 20, privacy.audit: audit must be 'optional' or 'required', got 'always'",
        ),
        "audit as a truth": ([('assurance = "checked"', "audit = true")], "privacy.audit: this must be text in quotes"),
        "weight of 0": (
            [('assurance = "checked"', "weights.age = 0")],
            "privacy.weights.age: a weight must be above 0",
        ),
        "weight as text": ([('assurance = "checked"', "weights.age = '2'")], "a weight must be above 0, got '2'"),
        "weights by another word": (
            [('assurance = "checked"', "weights = 'equal'")],
            'weights are "relative", "units" or',
        ),
        "weights as a list": ([('assurance = "checked"', "weights = [1, 2]")], "write {age = 2}"),
        "prior of an unknown scenario": (
            [('assurance = "checked"', "prior = {boom = 1}")],
            "line 20, privacy.prior: the prior names an unknown scenario 'boom'",
        ),
        "prior as text": ([('assurance = "checked"', "prior = 'even'")], "this must be a table, got 'even'"),
        "unknown objective": (
            [('assurance = "checked"', 'objective = "error"')],
            "line 20, privacy.objective: objective must be 'estimate' or 'noise', got 'error'",
        ),
        "error of an unknown statistic": (
            [('assurance = "checked"', "max_error = {agee = 2}")],
            "line 20, privacy.max_error.agee: there is no statistic 'agee' to limit the error of: did you mean 'age'?",
        ),
        "error of 0": ([('assurance = "checked"', "max_error.age = 0")], "the largest error must be above 0, got 0"),
        "one error for all": (
            [('assurance = "checked"', "max_error = 2")],
            "this must be a table, got 2: write it as in",
        ),
        "error as text": ([('assurance = "checked"', "max_error.age = '2'")], "this must be a number, got '2'"),
        "total epsilon too small": ([("epsilon = 2.0", "epsilon = 0.5")], "line 24, ledger.epsilon: all releases"),
        "total delta too small": ([("delta = 2e-3", "delta = 1e-4")], "line 25, ledger.delta: all releases"),
        "total delta forgotten": ([("delta = 2e-3", "")], "may have delta = 0.0, less than"),
        "total accuracy too small": (
            [("epsilon = 2.0\ndelta = 2e-3", "max_attack_accuracy = 0.6")],
            "line 24, ledger.max_attack_accuracy: all releases together may have attackers right 60% of the time",
        ),
        "total without epsilon": ([("epsilon = 2.0\n", "")], "ledger: this does not say how private"),
        "total delta of 2": ([("delta = 2e-3", "delta = 2")], "line 25, ledger.delta: delta must be"),
    }
    for name, (changes, message) in edits.items():
        yield name, changed(*changes), message


def _places() -> Iterator[tuple[str, str, str]]:
    edits = {
        "empty id": ([('"hospital-2026"', '""')], "line 4, data.id: an id of a dataset is"),
        "id with blanks": ([('"hospital-2026"', '"hospital "')], "an id of a dataset is"),
        "id with a line break": ([('"hospital-2026"', '"a\\nb"')], "an id of a dataset is"),
        "no reference": ([('reference = "adult.parquet"\n', "")], "data.reference: this is missing, and a share"),
        "empty reference": ([('"adult.parquet"', '""')], "line 2, data.reference: a source needs a name"),
        "reference from Spark": (
            [('"adult.parquet"', '"spark:census"')],
            "'spark:census' does not name a path or a table",
        ),
        "reference elsewhere": ([('"adult.parquet"', '"s3://census/1"')], "is not on this machine"),
        "database without a table": ([('"adult.parquet"', '"duckdb:a.db"')], "does not name a file and a table"),
        "database without a file": ([('"adult.parquet"', '"duckdb:?table=t"')], "does not name a file and a table"),
        "private reference": (
            [('"hospital.parquet"', '"./adult.parquet"')],
            "line 3, data.private: the private source",
        ),
        "private table from Spark": ([('"hospital.parquet"', '"spark:ward"')], "line 3, data.private: 'spark:ward'"),
        "ledger without a scheme": ([('"sqlite:///ledger.db"', '"ledger.db"')], "is no URL of a database"),
        "ledger in memory": ([('"sqlite:///ledger.db"', '"sqlite://"')], "forgets everything at its end"),
        "ledger named memory": ([("ledger.db", ":memory:")], "line 23, ledger.url: 'sqlite:///:memory:' forgets"),
        "records of nothing": ([("= 100", "= 0")], "records must be a whole number, at least 1, got 0"),
        "negative records": ([("= 100", "= -5")], "line 7, release.records: records must be"),
        "unknown method": ([("[ledger]", "[model]\nmethod = 'exactly'\n[ledger]")], "method must be 'auto' or"),
        "unknown way with nulls": (
            [("[ledger]", "[model]\nmissing = 'keep'\n[ledger]")],
            "missing must be 'refuse' or",
        ),
        "one draw": ([("[ledger]", "[model]\ndraws = 1\n[ledger]")], "model.draws: draws must be a whole number"),
        "negative seed": ([("[ledger]", "[model]\nseed = -1\n[ledger]")], "model.seed: seed must be"),
    }
    for name, (changes, message) in edits.items():
        yield name, changed(*changes), message


def _for_adult() -> Iterator[tuple[str, str, str]]:
    yield "no such file", changed(('"adult.parquet"', '"absent.parquet"')), "line 2, data.reference: there is no file"
    yield (
        "no table by its name",
        changed(('"adult.parquet"', '"adult.xlsx"')),
        "line 2, data.reference: there is no file",
    )
    yield "no such database", changed(('"adult.parquet"', '"duckdb:no.db?table=t"')), "there is no database file"
    yield "unknown column", with_statistic("mean(agee)"), "line 10, release.statistics.age: there is no column 'agee'"
    yield "text column", with_statistic("mean(sex)"), "line 10, release.statistics.age: 'sex' is of type string"
    yield "number as a condition", with_statistic("count(age)"), "not true or false: write a comparison"
    nulls = changed(('"adult.parquet"', '"nulls.csv"'), ("mean(age)", "mean(age + 1)"))
    yield "nulls in the reference", nulls, 'in any column with missing = "drop" in [model]'
    yield "no SQL", with_statistic("mean(age +)"), "is not one SQL expression"
    yield "subquery", with_statistic("mean((SELECT 1))"), "subquery"
    yield "forbidden function", with_statistic("mean(getenv('HOME'))"), "calls getenv"
    yield "unknown column of a share", changed(("income =", "incom =")), "line 14, protect.share: there is no column"
    yield "value nobody has", changed((">50K", "50K")), "line 14, protect.share: \"income = '50K'\" is true of no row"
    population = '[model]\nreference = "population"\n'
    hours = with_protect("mean = 'hours_per_week'\nvalues = [38, 42]\n")
    yield (
        "median of a sample that is weighed",
        changed(("mean(age)", "quantile(age, 0.5)"), text=hours) + "[model]\ndraws = 20\n",
        'or say reference = "population" in [model] if the reference rows are all',
    )
    yield (
        "unknown column of a mean",
        changed(("hours_per_week", "hours_per_weak"), text=hours) + population,
        "line 14, protect.mean: there is no column 'hours_per_weak'",
    )
    yield (
        "mean of text",
        changed(("hours_per_week", "income"), text=hours) + population,
        "line 14, protect.mean: 'income' is of type string, not a number",
    )
    yield (
        "mean out of reach",
        changed(("42", "142"), text=hours) + population,
        "line 14, protect.mean: mean(hours_per_week) cannot be 142: the rows have values from 1 to 99",
    )
    yield (
        "mean that few rows carry",
        changed(("38", "1.05"), text=hours) + population,
        "rows an effective number of",
    )
    yield (
        "unknown column of a table",
        with_table("count = true\nby = ['educatoin']"),
        ("release.tables.people: there is no column 'educatoin' to make a table by: did you mean 'education'"),
    )
    yield "mean of text by group", with_table("mean = 'sex'\nby = ['education']"), "not a number, so it has no mean"
    yield (
        "too many cells",
        with_table("count = true\nby = ['age', 'hours_per_week', 'education']"),
        ("cells, and at most 1,000 can be published at once"),
    )
    yield "levels of another type", with_table("count = true\nby = ['sex']\nlevels = {sex = [1]}"), "the level 1 is not"
    yield (
        "more records than rows of the population",
        changed(("= 100", "= 50000")) + "[model]\nreference = 'population'\n",
        "replacement = true in [model]",
    )
    yield "different rows of a sample", RIGHT + "[model]\nreplacement = false\n", "model.replacement: records of the"
    yield "quantile by exact moments", with_statistic("quantile(age, 0.5)") + "[model]\nmethod = 'exact'\n", "method = "


def _by_name(cases: Iterator[tuple[str, str, str]]) -> tuple[dict[str, str], dict[str, str]]:
    listed = list(cases)
    assert len({name for name, _, _ in listed}) == len(listed)
    return {name: text for name, text, _ in listed}, {name: message for name, _, message in listed}


def _all() -> Iterator[tuple[str, str, str]]:
    for part in (_shape(), _statistics(), _tables(), _secrets(), _targets(), _places()):
        yield from part


WRONG, SAID = _by_name(_all())
WRONG_FOR_ADULT, SAID_OF_ADULT = _by_name(_for_adult())
