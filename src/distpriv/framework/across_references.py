"""A secret that is hidden whichever of several references the records are like."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from distpriv.errors import InvalidSecret
from distpriv.framework.scenarios import MOST_PAIRS, ProtectedScenarios, closed_under_swapping

if TYPE_CHECKING:
    from distpriv.framework.combinations import Combinations
    from distpriv.framework.secrets import Share, TiltedSecret

__all__ = ["AcrossReferences"]


@frozen(kw_only=True)
class AcrossReferences:
    """A share or a property of the rows, with other tables that the records may be like instead of the reference.

    Scenarios are those of the secret, of each reference; a protected pair is protected whichever reference either of
    its two scenarios is of. So nobody has to know which of the references is right, an attacker included.

    >>> import distpriv as dp
    >>> share = dp.Share("income = '>50K'", values=(0.4, 0.5))
    >>> both = AcrossReferences(secret=share, others=("other.parquet",))
    >>> list(both.protected(records=10).scenarios)[2:], len(both.protected(records=10).pairs)
    (["income = '>50K' @ 0.4 / reference 2", "income = '>50K' @ 0.5 / reference 2"], 8)
    """

    secret: "Share | TiltedSecret | Combinations"
    others: tuple[Any, ...] = field(eq=lambda tables: tuple(map(id, tables)), repr=False)
    """The other references."""

    @property
    def tables(self) -> Mapping[str, Any]:
        """The other references, by what they are called."""
        return {f"reference {number}": table for number, table in enumerate(self.others, start=2)}

    @property
    def in_words(self) -> str:
        """What is hidden."""
        return f"{self.secret.in_words} Whichever of {len(self.others) + 1} references the records are like."

    def protected(self, records: int) -> ProtectedScenarios:
        """Return the scenarios of every reference, and the pairs across them.

        Raises:
            InvalidSecret: there are more pairs than anyone means.
        """
        own = self.secret.protected(records)
        names = {name: [name] for name in own.scenarios}
        scenarios = dict(own.scenarios)
        for number, table in enumerate(self.others, start=2):
            for name, scenario in own.scenarios.items():
                other = evolve(scenario, name=f"{name} / reference {number}", table=table, reference=number)
                scenarios[other.name] = other
                names[name].append(other.name)
        if len(own.pairs) * (len(self.others) + 1) ** 2 > MOST_PAIRS:
            raise InvalidSecret(
                f"{len(own.pairs):,} pairs across {len(self.others) + 1} references are too many: give fewer values, "
                "or fewer tables in robust=[…]."
            )
        pairs = ((one, other) for a, b in own.pairs for one in names[a] for other in names[b])
        return ProtectedScenarios(scenarios=scenarios, pairs=closed_under_swapping(pairs))
