"""The policy in a bundle, read again: what was asked for, whoever tells it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from distpriv.errors import InvalidPolicy
from distpriv.framework.target import PrivacyTarget
from distpriv.workflow.policy.reading import Policy, policy_of
from distpriv.workflow.policy.toml_places import Places
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.withheld import policy_without_private

__all__ = ["policy_in_release", "policy_in_toml"]

NAME = "the policy in release.json"
HERE = Path("/")
"""Paths are compared as they are written, not opened."""


def policy_in_release(release: Mapping[str, Any]) -> Policy:
    """Return the policy that a release.json holds under ``policy``, for the question that it names.

    Raises:
        InvalidPolicy: it is none, or not written as a release writes it.
    """
    written = release["policy"]
    document = {table: _given(inner) if isinstance(inner, Mapping) else inner for table, inner in written.items()}
    # The total was held against the release's own target when it was written, in the terms that it was given in then.
    total = PrivacyTarget(epsilon=written["ledger"]["epsilon"], delta=written["ledger"]["delta"])
    document["ledger"] = {key: value for key, value in document["ledger"].items() if key not in ("epsilon", "delta")}
    file = PolicyText(name=NAME, text="", document=document, places=Places())
    policy = policy_of(file, HERE)
    policy = evolve(policy, ledger=evolve(policy.ledger, url=None, total=total))
    if policy.to_dict() != written:
        raise InvalidPolicy(f"{NAME} is not as a release writes what it means: give the file as it was written.")
    return policy.only(release["question"])


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def policy_in_toml(text: str) -> dict[str, Any]:
    """Return what the policy.toml of a bundle means, with every default filled in.

    Raises:
        InvalidPolicy: it is none, or holds what a release takes out: comments, and where private things are.
    """
    name = "policy.toml"
    file = PolicyText.parse(text, name=name)
    if text != policy_without_private(file.document):
        raise InvalidPolicy(
            f"{name} is not as a release writes it, without comments and without where private things are: give the "
            "file as it was written."
        )
    return policy_of(file, HERE).to_dict()
