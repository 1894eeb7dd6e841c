"""A policy file: what to publish, what to hide, and how well; read once, and the library's own values ever after."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

from distpriv.engines.engine import engine_for
from distpriv.errors import InvalidInput, InvalidPolicy
from distpriv.framework.queries import Query
from distpriv.framework.secrets import Scenarios, Secret, Share
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Trust
from distpriv.modelling.from_rows import model
from distpriv.modelling.model import QueryModel
from distpriv.progress import Progress
from distpriv.workflow.policy_shape import checked_shape
from distpriv.workflow.policy_text import PolicyText
from distpriv.workflow.policy_values import (
    ModelOptions,
    dataset,
    ledger_address,
    model_options,
    query,
    records,
    secrets,
    sources,
    trust,
    weights,
)
from distpriv.workflow.statistics import statistic_text
from distpriv.workflow.targets import target, total
from distpriv.workflow.toml_places import KeyPath

__all__ = ["LedgerPolicy", "Policy", "policy_of", "read_policy"]


@frozen(kw_only=True)
class LedgerPolicy:
    """Where the releases of the dataset are kept, and the target that all of them together must meet."""

    url: str | None = field(repr=False)
    """Nothing where a bundle's policy withholds it."""
    total: PrivacyTarget
    create: bool = False
    """Whether to make the ledger where there is none, and no trace of one."""


@frozen(kw_only=True)
class Policy:
    """A policy that has been read and converted; made by `read_policy`."""

    file: PolicyText
    dataset: str
    """What the ledger calls the private dataset."""
    records: int
    reference: str | None
    """Public rows; nothing when every secret brings tables of its own."""
    private: str | None = field(repr=False)
    """The rows to answer from; nothing where the policy does not say or a bundle withholds it."""
    released: Query
    protected: tuple[Secret, ...]
    target: PrivacyTarget
    trust: Trust
    weights: Mapping[str, float] | Literal["relative"] | None
    ledger: LedgerPolicy
    options: ModelOptions

    def query(self) -> Query:
        """Return the statistics to release."""
        return self.released

    def secrets(self) -> list[Secret]:
        """Return what is protected, one secret for each [[protect]]."""
        return list(self.protected)

    def private_source(self) -> str:
        """Return where the private rows are, or refuse when the policy does not say."""
        if self.private is None:
            raise self.file.refusal(
                ("data", "private"), 'this is missing or withheld: write the source to release from, private = "…".'
            )
        return self.private

    def ledger_url(self) -> str:
        """Return where the ledger is, or refuse when a bundle's policy withholds it."""
        if self.ledger.url is None:
            raise self.file.refusal(("ledger", "url"), "this is withheld: write the address of the dataset's ledger.")
        return self.ledger.url

    def model(self, progress: Progress | None = None) -> QueryModel:
        """Return the model of the released statistics, from public tables alone."""
        for path, table in self._public_tables():
            with self.file.at(path):
                engine_for(table)
        try:
            return model(
                self.reference,
                self.released,
                self.protected,
                records=self.records,
                method=self.options.method,
                replacement=self.options.replacement,
                missing=self.options.missing,
                draws=self.options.draws,
                seed=self.options.seed,
                pool=self.options.pool,
                key=self.options.key,
                progress=progress,
            )
        except InvalidInput as failure:
            raise self._refusal(failure) from failure

    def to_dict(self) -> dict[str, Any]:
        """Return the policy for JSON, with every default filled in and nothing of where private things are."""
        document = self.file.document
        return {
            "data": {"reference": document["data"].get("reference"), "id": self.dataset},
            "release": {
                "records": self.records,
                "statistics": {name: statistic_text(statistic) for name, statistic in self.released.statistics},
            },
            "protect": [dict(secret) for secret in document["protect"]],
            "privacy": {
                "epsilon": self.target.epsilon,
                "delta": self.target.delta,
                "trust": self.trust,
                "weights": dict(self.weights) if isinstance(self.weights, Mapping) else self.weights,
            },
            "ledger": {"epsilon": self.ledger.total.epsilon, "delta": self.ledger.total.delta},
            "model": self.options.to_dict(),
        }

    def _public_tables(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield every table that the model is made from, by its key."""
        if self.reference is not None:
            yield ("data", "reference"), self.reference
        for number, secret in enumerate(self.protected):
            if isinstance(secret, Scenarios):
                for name, table in secret.tables.items():
                    yield ("protect", number, "scenarios", name), table

    def _refusal(self, failure: InvalidInput) -> InvalidPolicy:
        """Return what the model refused, by the key it is about."""
        message = str(failure)
        for name, _ in self.released.statistics:
            if message.startswith(f"statistic {name!r}"):
                return self.file.refusal(("release", "statistics", name), message.removeprefix(f"statistic {name!r}: "))
        for number, secret in enumerate(self.protected):
            if isinstance(secret, Share) and (repr(secret.predicate) in message or f"{secret.predicate} @ " in message):
                return self.file.refusal(("protect", number, "share"), message.removeprefix("the secret: "))
        for path, table in self._public_tables():
            if repr(table) in message or f"scenario {path[-1]!r}" in message:
                return self.file.refusal(path, message)
        return self.file.refusal((), message)


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file, or say in one sentence what is wrong with it and on which line.

    Paths in it are seen from its own folder. No table is opened.
    """
    file = PolicyText.read(path)
    return policy_of(file, Path(os.path.abspath(os.path.expanduser(path))).parent)


def policy_of(file: PolicyText, folder: Path) -> Policy:
    """Return what a policy's text means, its paths seen from a folder."""
    shape = checked_shape(file)
    count = records(file, shape.release.records)
    asked = query(file, shape.release.statistics, count)
    hidden = secrets(file, shape.protect, count, folder)
    reference, private = sources(file, shape.data, hidden, folder)
    aim = target(file, "privacy", shape.privacy)
    return Policy(
        file=file,
        dataset=dataset(file, shape.data.id),
        records=count,
        reference=reference,
        private=private,
        released=asked,
        protected=hidden,
        target=aim,
        trust=trust(file, shape.privacy.trust),
        weights=weights(file, shape.privacy.weights, asked),
        ledger=LedgerPolicy(
            url=ledger_address(file, shape.ledger.url, folder),
            total=total(file, shape.privacy, shape.ledger, aim),
            create=shape.ledger.create,
        ),
        options=model_options(file, shape.model),
    )
