"""Evidence and refusals in words: the one module that makes sentences of codes and facts."""

import string
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from textwrap import fill
from tomllib import loads
from typing import Any

from attrs import field, frozen

from distpriv import errors
from distpriv.errors import DistprivError, InvalidInput
from distpriv.guarantees.evidence import Evidence

__all__ = ["Entry", "combination", "explanation", "named_facts", "refusals", "registry", "sentence"]


@frozen(kw_only=True)
class Entry:
    """What the registry says of a code."""

    title: str
    """What it is about, in a few words."""
    sentence: str
    """What holds, or must hold, with facts in braces."""
    details: Sequence[str] = ()
    """The numbers behind it, with facts in braces; a detail without all of its facts is left out."""
    items: Mapping[str, Sequence[str]] = field(factory=dict)
    """How each record of a fact is written, in parts of which those without all of their facts are left out."""
    explanation: str
    """What it means and why it matters."""
    cure: str
    """What to do about it."""


@cache
def registry() -> dict[str, Entry]:
    """Return what there is to know about every code of evidence.

    >>> registry()["DP205"].title
    'Lattice smoothed by the noise'
    """
    text = files("distpriv.guarantees").joinpath("evidence.toml").read_text(encoding="utf-8")
    return {code: Entry(**entry) for code, entry in loads(text).items()}


class _Formatter(string.Formatter):
    """Formats lists element by element, tables as `value name`, or as a linear combination with ``:sum``."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list):
            return ", ".join(self.format_field(item, format_spec) for item in value)
        if isinstance(value, Mapping) and format_spec == "sum":
            return combination(value)
        if isinstance(value, Mapping):
            return ", ".join(f"{self.format_field(number, format_spec)} {name}" for name, number in value.items())
        return "unknown" if value is None else format_spec if value is True else format(value, format_spec)


_FORM = _Formatter()


def combination(coefficients: Mapping[str, float]) -> str:
    """Return a linear combination, its largest terms first.

    >>> combination({"age": 1.0, "women": -2.0, "hours": 0.25})
    '− 2·women + age + 0.25·hours'
    """
    signed = "".join(
        f" {'−' if share < 0 else '+'} " + f"{abs(share):.3g}·{name}".removeprefix("1·")
        for name, share in sorted(coefficients.items(), key=lambda term: -abs(term[1]))
    )
    return signed.removeprefix(" + ").removeprefix(" ")


def _filled(templates: Sequence[str], facts: Mapping[str, Any], items: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the templates that have all of their facts, filled in; records become text by the templates of items."""
    records = {
        name: [" ".join(_filled(items[name], one, {})) for one in facts[name]] for name in items if name in facts
    }
    absent: tuple[Any, ...] = (None, [], {})
    present = {name: fact for name, fact in {**facts, **records}.items() if fact is not False and fact not in absent}
    return [_FORM.vformat(one, (), present) for one in templates if present.keys() >= set(named_facts(one))]


def named_facts(template: str) -> list[str]:
    """Return the facts that a template has in braces.

    >>> named_facts("δ ≤ {delta:.3g}, worst for {pair}")
    ['delta', 'pair']
    """
    return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]


def sentence(evidence: Evidence) -> str:
    """Return evidence as a sentence, with the numbers behind it in parentheses.

    >>> sentence(Evidence.of("DP310", rows={"rows": 4000}, delta=None))
    'the reference is a random sample of the population (sample size: 4,000 rows)'
    """
    try:
        entry = registry()[evidence.code]
        (stated,) = _filled([entry.sentence], evidence.facts, {}) or [entry.title]
        details = _filled(entry.details, evidence.facts, entry.items)
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise InvalidInput(
            f"evidence {evidence.code!r:.20} has no words for such facts: give it as written."
        ) from failure
    return stated + (f" ({'; '.join(details)})" if details else "")


def refusals() -> dict[str, type[DistprivError]]:
    """Return the class of every code of a refusal, DP4xx.

    >>> refusals()["DP401"].__name__
    'AssumptionViolated'
    """
    return {getattr(errors, name).code: getattr(errors, name) for name in errors.__all__}


def explanation(code: str) -> str:
    """Return all that there is to say about a code, as paragraphs: what it means, why it matters, what to do.

    >>> print(explanation("dp205").splitlines()[0])
    DP205 (checked): Lattice smoothed by the noise

    Raises:
        InvalidInput: there is no such code.
    """
    code = code.upper()
    if (refusal := refusals().get(code)) is not None:
        means, _, rest = (refusal.__doc__ or "").partition("\n\n    Cure: ")
        head, cure = f"{code} (refused): {refusal.__name__}", rest.partition("\n\n")[0]
    elif (entry := registry().get(code)) is not None:
        status = Evidence.of(code).status
        head, means, cure = f"{code} ({status}): {entry.title}", entry.explanation, entry.cure
    else:
        raise InvalidInput(f"there is no code {code!r}: codes run from DP101 to DP3xx, and from DP400 for refusals.")
    return "\n\n".join([head, *(fill(" ".join(part.split()), 100) for part in (means, f"What to do: {cure}"))])
