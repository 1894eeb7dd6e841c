"""A policy as a Python program and as a notebook that do the same: model, plan, release."""

import json
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from distpriv._version import __version__
from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput
from distpriv.framework.folders import write_whole
from distpriv.framework.queries import Table
from distpriv.framework.target import PrivacyTarget
from distpriv.releasing.ledger.urls import checked_url, sqlite_file
from distpriv.workflow.plan_policy import allowed_mechanisms
from distpriv.workflow.policy import Policy, read_policy
from distpriv.workflow.policy.protecting import in_order
from distpriv.workflow.policy.sources import source
from distpriv.workflow.policy.values import Question
from distpriv.workflow.python_text import Code, call, literal, statistic_code, table, table_code

__all__ = ["Exported", "export_code", "notebook_text", "program_text"]

LEDGER_VARIABLE = "DISTPRIV_LEDGER"
"""Where a program finds a ledger's URL that has a password or options in it."""

_APART = ("level", "values", "positives", "between", "within", "step", "nearest")
"""What says which values of a secret are kept apart."""

AT = '''\
def at(path: str) -> str:
    """Return a path as it is seen from here."""
    return str(HERE / path)'''

ATTACKED = '''\
def attacked(mechanism, model):
    """Refuse what simulated attacks refute, before the private table is looked at."""
    dp.audit(mechanism, model=model, releases=20_000, seed=0).require_passed()'''


@frozen(kw_only=True)
class Exported:
    """What was written."""

    program: Path
    notebook: Path


@frozen(kw_only=True)
class Part:
    """Some lines of a program, and what they do."""

    words: str
    code: str
    releases: bool = False
    """Whether they belong to the release, which a program that is imported does not make."""


def export_code(path: str, out: str | os.PathLike[str] | None = None) -> Exported:
    """Write the program and the notebook that do what a policy says.

    Args:
        path: the policy.
        out: the folder to write to; that of the policy when not given.

    Raises:
        InvalidInput: a file is there already, or cannot be written.
    """
    policy = read_policy(path)
    place = Path(os.path.abspath(os.path.expanduser(path))).parent
    folder = place if out is None else Path(os.path.abspath(os.path.expanduser(out)))
    stem = re.sub(r"[^\w-]", "_", Path(path).stem) or "policy"
    made = Exported(program=folder / f"{stem}.py", notebook=folder / f"{stem}.ipynb")
    texts = {made.program: program_text(policy, place, folder), made.notebook: notebook_text(policy, place, folder)}
    for file in texts:
        if os.path.lexists(file):
            raise InvalidInput(f"{str(file)!r} is there already: move it away, or give another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            write_whole(file, text)
    except OSError as failure:
        raise InvalidInput(f"{str(folder)!r} cannot be written ({failure.strerror}): give another --out.") from failure
    return made


def program_text(policy: Policy, place: Path, folder: Path) -> str:
    """Return the program, for a folder; `place` is that of the policy."""
    parts = list(_parts(policy, place, folder))
    head = (
        f'"""What {_name(policy)} asks for, as a program: imported it plans, and run it releases.\n\n'
        f"Written by distpriv {__version__}; the policy is not read.\n"
        '"""\n\n'
        f"{_imports(policy)}\n\n"
        "HERE = Path(__file__).resolve().parent\n\n\n"
        f"{AT}\n\n\n"
    )
    plain = "\n\n".join(f"# {part.words}\n{part.code}" for part in parts if not part.releases)
    guarded = "\n\n".join(f"# {part.words}\n{part.code}" for part in parts if part.releases)
    return f'{head}{plain}\n\nif __name__ == "__main__":\n{textwrap.indent(guarded, "    ")}\n'


def notebook_text(policy: Policy, place: Path, folder: Path) -> str:
    """Return the notebook, as JSON; paths in it are seen from the folder that it runs in, which is its own."""
    first = f"# {_name(policy)}\n\nWhat the policy asks for, step by step; written by distpriv {__version__}."
    cells = [_cell("markdown", first)]
    cells.append(_cell("code", f"{_imports(policy)}\n\nHERE = Path.cwd()\n\n\n{AT}"))
    for part in _parts(policy, place, folder):
        cells += [_cell("markdown", part.words), _cell("code", part.code)]
    named = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": named,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return f"{json.dumps(document, indent=1, ensure_ascii=False)}\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text, **shown}


def _name(policy: Policy) -> str:
    return re.sub(r"[^\w. -]", "_", Path(policy.file.name).name)


def _imports(policy: Policy) -> str:
    needed = ["import os"] if _ledger_is_secret(policy) else []
    needed.append("from pathlib import Path")
    return "\n".join(needed) + "\n\nimport distpriv as dp"


def _parts(policy: Policy, place: Path, folder: Path) -> Iterator[Part]:
    written = tomllib.loads(policy.file.text)
    asked = written["release"] if isinstance(written["release"], list) else [written["release"]]
    several = policy.declares
    queries = {str(q.name): _query(q, table) for q, table in zip(policy.questions, asked, strict=True)}
    secrets = [
        _combined([_secret(written["protect"][number], place, folder) for number in numbers])
        for numbers in in_order(written["protect"])
    ]
    yield Part(words="What is published.", code=_assigned("query", "queries", queries, several=several))
    yield Part(words="What is hidden.", code=f"secrets = [\n{textwrap.indent(_listed(secrets), '    ')}\n]")
    models = {name: _model(policy, written, place, folder, name if several else None) for name in queries}
    words = "How the statistics vary in every case that is to look alike, from public rows alone."
    yield Part(words=words, code=_assigned("model", "models", models, several=several))
    targets = f"target = {_target(policy.target)}\ntotal = {_target(policy.ledger.total)}"
    yield Part(words="How well it is hidden: by this release, and by all of the dataset together.", code=targets)
    plans = {str(q.name): _plan(policy.only(q.name), str(q.name) if several else None) for q in policy.questions}
    words = "Every way to do it, and the best that holds; release makes its noise wider where earlier answers ask it."
    yield Part(words=words, code=_assigned("plan", "plans", plans, several=several))
    yield from _releases(policy, folder, several=several)


def _releases(policy: Policy, folder: Path, *, several: bool) -> Iterator[Part]:
    if policy.private is None or policy.ledger.url is None:
        shown = "for plan in plans.values():\n    print(plan)" if several else "print(plan)"
        yield Part(words="The policy does not say where private rows or the ledger are.", code=shown, releases=True)
        return
    made = "create({}, exist_ok=True)" if policy.ledger.create else "open({})"
    ledger = f"ledger = dp.Ledger.{made.format(_ledger(policy, folder))}"
    private = f"private = {_source(policy.private, folder)}"
    yield Part(words="Where private rows and the ledger are.", code=f"{private}\n{ledger}", releases=True)
    approve: dict[str, Any] = {}
    if policy.audit == "required":
        yield Part(words="Nothing may be released that was not attacked.", code=ATTACKED, releases=True)
        approve["approve"] = Code("attacked")
    options = {
        "ledger": Code("ledger"),
        "dataset": policy.dataset,
        "total": Code("total"),
        "adaptive": policy.ledger.adaptive,
        **approve,
    }
    released = call("dp.release", Code("plan"), Code("private"), lines=True, **options)
    if not several:
        code = f"print(plan)\nreleased = {released}\nprint(released)"
        yield Part(words="The answer, once; asked again it is the same.", code=code, releases=True)
        return
    declared = call("dp.declare", Code("plans"), ledger=Code("ledger"), dataset=policy.dataset, total=Code("total"))
    code = f"past = ledger.history({literal(policy.dataset)})\nif past.declaration is None and not past.entries:\n"
    yield Part(words="All questions are fixed before the first answer.", code=f"{code}    {declared}", releases=True)
    loop = f'released = {released}\nprint(name, plan, released, sep="\\n\\n")'
    code = f"for name, plan in plans.items():\n{textwrap.indent(loop, '    ')}"
    yield Part(words="The answers, each once; asked again they are the same.", code=code, releases=True)


def _assigned(one: str, many: str, codes: Mapping[str, Code], *, several: bool) -> str:
    return f"{many} = {table(codes)}" if several else f"{one} = {next(iter(codes.values()))}"


def _listed(codes: list[Code]) -> str:
    return "\n".join(f"{code}," for code in codes)


def _query(question: Question, written: Mapping[str, Any]) -> Code:
    """Return a query: its statistics as they were read, and its tables as they were written."""
    cells = {name for key, each in question.query.tables for name in each.names(key)}
    plain = {name: statistic_code(name, each) for name, each in question.query.statistics if name not in cells}
    tables = {name: table_code(Table.from_dict(each)) for name, each in written.get("tables", {}).items()}
    return Code(f"dp.Query(\n{textwrap.indent(table({**plain, **tables}), '    ')}\n)")


def _combined(codes: list[Code]) -> Code:
    """Return one secret as it is, and several as combinations."""
    return codes[0] if len(codes) == 1 else call("dp.Combinations", *codes, lines=True)


def _secret(written: Mapping[str, Any], place: Path, folder: Path) -> Code:
    if "scenarios" in written:
        tables = {name: _source(source(text, place), folder) for name, text in written["scenarios"].items()}
        return call("dp.Scenarios", tables, **({"pairs": written["pairs"]} if "pairs" in written else {}))
    apart = {key: written[key] for key in _APART if key in written}
    if "shift" in written:
        both = [_source(source(text, place), folder) for text in written["shift"].values()]
        return call("dp.Shift", *both, names=tuple(written["shift"]), **apart)
    kind = next(each for each in ("share", "mean", "quantile", "correlation") if each in written)
    given = written[kind] if kind == "correlation" else [written[kind]]
    return call(f"dp.{kind.capitalize()}", *given, **apart)


def _model(policy: Policy, written: Mapping[str, Any], place: Path, folder: Path, name: str | None) -> Code:
    reference = written["data"].get("reference")
    public = None if reference is None or policy.reference is None else _source(source(reference, place), folder)
    query = Code("query" if name is None else f"queries[{literal(name)}]")
    options = asdict(policy.options)
    if others := written["data"].get("robust"):
        ball = [] if options["robust"] is None else [options["robust"]]
        options["robust"] = [*(_source(source(text, place), folder) for text in others), *ball]
    return call("dp.model", public, query, Code("secrets"), lines=True, records=policy.records, **options)


def _plan(policy: Policy, name: str | None) -> Code:
    model = Code("model" if name is None else f"models[{literal(name)}]")
    settings = {
        "trust": policy.trust,
        "weights": policy.weights,
        "prior": policy.prior,
        "objective": policy.objective,
        "max_error": policy.max_error,
        "mechanisms": allowed_mechanisms(policy),
    }
    return call("dp.plan", model, Code("target"), lines=True, **settings)


def _target(target: PrivacyTarget) -> Code:
    return call("dp.PrivacyTarget", epsilon=target.epsilon, delta=target.delta)


def _source(text: str, folder: Path) -> Code:
    """Return the name of a source, its path seen from the folder of the program."""
    name = source_name(text)
    told = name.told_from(folder)
    if name.path is None or told.path == name.path:
        return Code(literal(name.text))
    path = f"at({literal(told.path)})"
    if name.engine == "files":
        return Code(path)
    before, _, behind = told.text.partition(str(told.path))
    return Code(f"{literal(before)} + {path}" + (f" + {literal(behind)}" if behind else ""))


def _ledger(policy: Policy, folder: Path) -> Code:
    """Return the URL of the ledger; one that may have a password in it is left to the environment."""
    if _ledger_is_secret(policy):
        return Code(f'os.environ["{LEDGER_VARIABLE}"]')
    url = checked_url(policy.ledger_url())
    if sqlite_file(url) is None:
        return Code(literal(policy.ledger_url()))
    file = Path(os.path.relpath(str(url.database), folder)).as_posix()
    return Code(f'"sqlite:///" + at({literal(file)})')


def _ledger_is_secret(policy: Policy) -> bool:
    if policy.ledger.url is None:
        return False
    url = checked_url(policy.ledger.url)
    return bool(url.password or url.query or "@" in f"{url.host}{url.database}")
