"""Statistics as text: ``mean(age, resolution = 1)`` in a policy is ``mean("age", resolution=1)`` in Python.

The first argument is SQL up to the first comma outside quotes and parentheses. What is in it is not judged here: the
expression is held against the allow-list and the table's columns when it meets a table. A ledger holds the same word
and the same arguments by their names.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn

from distpriv.errors import InvalidInput, InvalidQuery
from distpriv.framework.domains import did_you_mean
from distpriv.framework.statistics import FORMS, Form, Statistic

__all__ = ["all_words", "parse_statistic", "statistic_from_dict"]

Literal = float | tuple[float, ...]

_OTHER_WORDS = {
    "average": "mean", "avg": "mean", "sum": "total", "median": "quantile(…, 0.5)", "percentile": "quantile",
    "var": "variance", "var_samp": "variance", "stddev": "variance", "share": "proportion", "fraction": "proportion",
    "rate": "proportion", "number": "count",
}  # fmt: skip
_CALL = re.compile(r"\s*([^\W\d]\w*)\s*\(", re.ASCII)
_OPTION = re.compile(r"\s*([^\W\d]\w*)\s*=\s*(.*?)\s*", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_BRACKETED = re.compile(r"\((.*)\)|\[(.*)\]", re.DOTALL)
_TOKEN = re.compile(r"""'(?:[^']|'')*+'|"(?:[^"]|"")*+"|--|/\*|\$\$|.""", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def parse_statistic(text: str) -> Statistic:
    """Return the statistic that a text stands for.

    >>> parse_statistic("quantile(hours_per_week, 0.5)")
    Quantile(expression='hours_per_week', level=0.5, resolution=None)
    >>> parse_statistic("meen(age)")
    Traceback (most recent call last):
    distpriv.errors.InvalidQuery: there is no statistic 'meen' in 'meen(age)': did you mean 'mean'?
    """
    called = _CALL.match(text)
    if called is None:
        _refuse(text, "is no statistic", "write one such as mean(age) or count(sex = 'Female')")
    form = _form(called.group(1), text)
    arguments = _arguments(text, called.end())
    texts, rest = arguments[: len(form.texts)], arguments[len(form.texts) :]
    if len(texts) < len(form.texts) or not all(part.strip() for part in texts):
        _refuse(text, "has nothing to compute", f"write it as in {form.example}")
    stated = _OPTION.fullmatch(texts[0])
    if stated and stated.group(1) in form.options and _is_literal(stated.group(2)):
        _refuse(text, "begins with an option", f"the expression comes first, as in {form.example}")
    options = dict(_options(form, rest, text))
    for key, (lack, cure) in form.needed.items():
        if key not in options:
            _refuse(text, lack, cure)
    return form.make(*map(str.strip, texts), **options)


def all_words() -> str:
    """Return what kinds of statistics there are.

    >>> all_words()
    'mean, total, count, proportion, variance, quantile, group_quantile or group_variance'
    """
    *words, last = FORMS
    return f"{', '.join(words)} or {last}"


def statistic_from_dict(value: Mapping[str, Any]) -> Statistic:
    """Return the statistic that a ledger holds.

    Raises:
        InvalidQuery: it is a Python function, which no ledger holds.

    >>> statistic_from_dict({"kind": "mean", "expression": "age", "bounds": [17, 90]}).text
    'mean(age, bounds = (17, 90))'
    """
    kind = value.get("kind")
    if kind == "function":
        raise InvalidQuery(
            f"statistic {value.get('name')!r} is a Python function, which cannot be written down: releases of "
            "functions cannot be certified together with others, so ask for all statistics of a dataset at once."
        )
    if not isinstance(kind, str) or kind not in FORMS:
        raise InvalidInput(f"there is no kind of statistic called {kind!r}: it is {all_words()}.")
    return FORMS[kind].from_dict(value)


def _form(name: str, text: str) -> Form:
    if name in FORMS:
        return FORMS[name]
    if name == "function":
        _refuse(text, "is Python code", "a policy holds none, so release it by distpriv.function in a program")
    near = _OTHER_WORDS.get(name.lower())
    cure = f"did you mean {near!r}?" if near else did_you_mean(name, FORMS)
    raise InvalidQuery(f"there is no statistic {name!r} in {text!r}: {cure}")


def _arguments(text: str, start: int) -> list[str]:
    """Return the arguments of a call whose parenthesis opens before `start` and must close at the end."""
    cuts, open_brackets = [start - 1], [")"]
    for at, token in _tokens(text, start):
        if not open_brackets:
            if not token.isspace():
                _refuse(text, f"goes on behind its end with {text[at:].strip()!r}", "write one statistic per name")
        elif token in _CLOSING:
            open_brackets.append(_CLOSING[token])
        elif token in _CLOSING.values():
            if token != open_brackets.pop():
                _refuse(text, f"has a {token!r} that closes nothing", "write brackets in pairs")
            if not open_brackets:
                cuts.append(at)
        elif token == "," and len(open_brackets) == 1:
            cuts.append(at)
    if open_brackets:
        _refuse(text, f"lacks a {open_brackets[-1]!r} at its end", "close every bracket")
    return [text[left + 1 : right] for left, right in pairwise(cuts)]


def _tokens(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield quoted strings whole and everything else by the character, with their positions."""
    for found in _TOKEN.finditer(text, start):
        at, token = found.start(), found.group()
        if token in {"'", '"'}:
            _refuse(text, f"has a quote {token} that is not closed", "write a quote inside text twice, as in 'it''s'")
        if token in {"--", "/*"}:
            _refuse(text, f"has a comment, {token}, in it", "comments go behind a # on a line of the policy")
        if token == "$$" or (token[0] == "'" and re.match(r"\w", text[at - 1])):
            _refuse(text, "has text in unusual quotes", "write text in single quotes, as in 'Never-married'")
        yield at, token


def _options(form: Form, rest: list[str], text: str) -> Iterator[tuple[str, Literal]]:
    seen: set[str] = set()
    by_place = dict(enumerate(form.needed))
    for place, part in enumerate(rest):
        stated = _OPTION.fullmatch(part)
        if place in by_place and stated is None:
            key, value = by_place[place], part.strip()
        elif not form.options:
            cure = f"{form.word} takes one condition: join several by AND"
            _refuse(text, f"has {part.strip()!r} behind a comma", cure)
        elif stated is None:
            _refuse(text, f"has {part.strip()!r} behind a comma", f"options are given as {form.options[-1]} = …")
        else:
            key, value = stated.groups()
        if key not in form.options:
            raise InvalidQuery(f"{form.word} has no option {key!r} in {text!r}: {did_you_mean(key, form.options)}")
        if key in seen:
            _refuse(text, f"says {key} twice", "say it once")
        seen.add(key)
        yield key, _literal(key, value, text)


def _is_literal(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value) or _BRACKETED.fullmatch(value))


def _literal(key: str, value: str, text: str) -> Literal:
    """Return a number, or the numbers between brackets."""
    if _NUMBER.fullmatch(value):
        return _number(value)
    brackets = _BRACKETED.fullmatch(value)
    parts = [part.strip() for part in (brackets.group(1) or brackets.group(2) or "").split(",")] if brackets else []
    if not parts or not all(_NUMBER.fullmatch(part) for part in parts):
        example = "(17, 90)" if key == "bounds" else "0.5" if key == "level" else "1"
        _refuse(text, f"has {value!r} for {key}", f"write a number, as in {key} = {example}")
    return tuple(_number(part) for part in parts)


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"[-+]?\d{1,15}", text) else float(text)


def _refuse(text: str, what: str, cure: str) -> NoReturn:
    raise InvalidQuery(f"{text!r} {what}: {cure}.")
