"""What a curator accepts of a private table that is not as the reference: declared, column by column, never guessed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from distpriv.engines.total import is_text
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean

__all__ = ["NOTHING", "Accepted", "each_different"]


@frozen(kw_only=True)
class Accepted:
    """What may differ from the reference, and what it counts as; nothing if nothing is declared.

    >>> accepted = Accepted.of(levels={"complaint": {"Ja": "ja"}}, missing={"complaint": "nein"})
    >>> column = pa.chunked_array([["Ja", "nein", None]])
    >>> spelled = accepted.spelled("complaint", column)
    >>> accepted.filled("complaint", column, spelled).to_pylist()
    ['ja', 'nein', 'nein']
    """

    missing: Mapping[str, Any] = field(factory=dict)
    """What a missing value of a column counts as."""
    levels: Mapping[str, Mapping[str, str]] = field(factory=dict)
    """How values of a column are spelled in the reference, by how they are spelled in the private table."""
    clip: frozenset[str] = frozenset()
    """The columns whose values are read as the nearest that the reference has."""

    @classmethod
    def of(
        cls,
        *,
        missing: Mapping[str, Any] | None = None,
        levels: Mapping[str, Mapping[str, str]] | None = None,
        clip: Iterable[str] | None = None,
    ) -> Self:
        """Return what is accepted, columns found by their names whatever their case.

        Raises:
            InvalidInput: what was given is not by column.
        """
        if isinstance(clip, str):
            raise InvalidInput(f"clip must be a list of columns, got {clip!r}: write clip=[{clip!r}].")
        for name, given, example in (("missing", missing, "{'age': 40}"), ("levels", levels, "{'paid': {'Ja': 'ja'}}")):
            if not isinstance(given or {}, Mapping):
                raise InvalidInput(f"{name} must be by column, got {given!r}: write {name}={example}.")
        for column, spellings in (levels or {}).items():
            if not isinstance(spellings, Mapping) or not all(isinstance(text, str) for text in spellings.values()):
                raise InvalidInput(
                    f"levels of {column!r} must say for each spelling what the reference has, got {spellings!r}: write "
                    "{'Ja': 'ja'}."
                )
        return cls(
            missing={name.lower(): value for name, value in (missing or {}).items()},
            levels={name.lower(): {str(k): v for k, v in each.items()} for name, each in (levels or {}).items()},
            clip=frozenset(name.lower() for name in clip or ()),
        )

    def require_columns(self, names: Iterable[str]) -> None:
        """Refuse columns that neither a statistic nor a secret reads.

        >>> Accepted.of(clip=["agee"]).require_columns(["age"])
        Traceback (most recent call last):
        distpriv.errors.InvalidInput: 'agee' is no column that is read, so nothing of it can be accepted: did you mean
        'age'?
        """
        known = [name.lower() for name in names]
        for name in (*self.missing, *self.levels, *sorted(self.clip)):
            if name not in known:
                raise InvalidInput(
                    f"{name!r} is no column that is read, so nothing of it can be accepted: {did_you_mean(name, known)}"
                )

    def spelled(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the texts of a column as the reference spells them."""
        spellings = self.levels.get(name.lower())
        if not spellings or not is_text(values.type):
            return values
        return each_different(values, lambda text: spellings.get(text, text))

    def filled(self, name: str, written: pa.ChunkedArray, typed: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column with what is declared in the place of what was missing; what cannot be read stays missing."""
        if name.lower() not in self.missing:
            return typed
        filling = pa.scalar(self.missing[name.lower()]).cast(typed.type)
        return pc.if_else(written.is_null(nan_is_null=True), filling, typed)

    def targets(self, name: str) -> tuple[Any, ...]:
        """Return what values of a column are to count as."""
        spelled = tuple(self.levels.get(name.lower(), {}).values())
        return (*spelled, self.missing[name.lower()]) if name.lower() in self.missing else spelled


NOTHING = Accepted()


def each_different(values: pa.ChunkedArray, text: Callable[[Any], str]) -> pa.ChunkedArray:
    """Return a column of texts, one for each of the different values; nothing where there is no value."""
    different = values.unique()
    nothing = different.is_null(nan_is_null=True).to_pylist()
    texts = [None if gone else text(value) for value, gone in zip(different.to_pylist(), nothing, strict=True)]
    places = pc.index_in(values, value_set=different)
    return pa.chunked_array([pa.array(texts, pa.string()).take(places.combine_chunks())])
