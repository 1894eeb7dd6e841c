"""A bundle that is being looked at: each of its parts made when it is first asked for."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.queries import Query
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.drawn import Witness, witness_from_dict
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw, noise_from_dict
from distpriv.policy import Policy
from distpriv.policy.load import policy_in_release
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.joint import THEOREM
from distpriv.releasing.readings import listed_evidence
from distpriv.workflow.verifying.bundle_files import Files
from distpriv.workflow.verifying.recomputing import JOINT, Claim
from distpriv.workflow.written_model import model_from_dict, model_to_dict

__all__ = ["Opened"]


@frozen(kw_only=True, slots=False)
class Opened:
    """What a bundle holds, each part made when it is first looked at."""

    document: Mapping[str, Any]
    files: Files | None

    @cached_property
    def policy(self) -> Policy:
        """What was asked for."""
        return policy_in_release(self.document)

    @cached_property
    def model(self) -> QueryModel:
        """The moments of this release."""
        return _model_of(self.document["evidence"]["model"])

    @cached_property
    def noise(self) -> NoiseLaw:
        """The noise of this release."""
        return noise_from_dict(self.document["noise"])

    @cached_property
    def own(self) -> Certificate:
        """What is promised about this release alone."""
        return Certificate.from_dict(self.document["certificate"])

    @cached_property
    def together(self) -> Certificate | None:
        """What is promised about all releases so far; none without a ledger."""
        written = self.document["joint_certificate"]
        return None if written is None else Certificate.from_dict(written)

    @cached_property
    def whole(self) -> QueryModel | None:
        """The model of all releases; none for a first one."""
        joint = self.document["evidence"]["joint"]
        return None if joint is None else _model_of(joint["model"])

    @cached_property
    def noises(self) -> tuple[NoiseLaw, ...]:
        """The noise of all questions that this one was certified with, in the order of their moments."""
        joint = self.document["evidence"]["joint"]
        return (self.noise,) if joint is None else tuple(noise_from_dict(law) for law in joint["noises"])

    @cached_property
    def place(self) -> int:
        """Where this release stands among all questions that it was certified with."""
        joint = self.document["evidence"]["joint"]
        return 0 if joint is None else int(joint["releases"].index(self.document["position"]))

    @cached_property
    def reading(self) -> Evidence:
        """What is said of how rows are read, but for what functions see."""
        return listed_evidence(self.query, self.document["evidence"]["reading"])

    @cached_property
    def query(self) -> Query:
        """The policy's statistics, in the order of the moments."""
        return self.policy.query().in_order_of(self.model.names)

    def drawn(self, key: str) -> Witness | None:
        """The draws that the certificate of the release, or the joint one, rests on; none where it rests on moments."""
        written = self.document["evidence"]["drawn"][key]
        drawn = None if written is None else witness_from_dict(written)
        if drawn is not None and drawn.to_dict() != written:
            raise InvalidInput("the draws are not as a release writes them down: give the file as it was written.")
        return drawn

    @cached_property
    def claim(self) -> Claim:
        """What is promised about this release, but for where rows come from and how they are read.

        For a policy that asks again the noise may have been certified anew, as all releases together are.
        """
        return Claim(
            mechanism=JOINT if self.own.theorem in (THEOREM, IMMUNE) else self.document["mechanism"],
            model=self.model,
            noises=(self.noise,),
            written=evolve(self.own, evidence=self.own.evidence[:-2]),
            drawn=self.drawn("release"),
        )


def _model_of(written: Mapping[str, Any]) -> QueryModel:
    """Return a model that is written as it would be written again."""
    model = model_from_dict(written)
    again = model_to_dict(model)
    if any(again[key] != written[key] for key in ("statistics", "protected_pairs", "steps", "record_sensitivities")):
        raise InvalidModel("the model is not as a release writes what it means: give the file as it was written.")
    return model
