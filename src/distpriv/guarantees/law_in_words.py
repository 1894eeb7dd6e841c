"""What a certificate says of the law of the statistics: believed to be a bell curve, or held against the rows."""

import numpy as np
from attrs import evolve

from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.checked_law import LARGEST_GATE, CheckedLaw, combination_in_words
from distpriv.modelling.model import QueryModel

__all__ = ["gaussian_assumption", "is_estimated", "with_names_of"]

EXACT_MOMENTS = ("exact moments", "given moments")


def is_estimated(model: QueryModel) -> bool:
    """Tell whether moments are those of draws, and not known exactly."""
    return model.provenance.method not in EXACT_MOMENTS


def gaussian_assumption(model: QueryModel, law: CheckedLaw | None) -> Assumption:
    """Return what a certificate at assurance `checked` says of the statistics' law."""
    method = model.provenance.method
    if law is not None:
        return _checked_assumption(model, law)
    return Assumption(
        statement="the statistics are Gaussian with the modelled means and covariances, on their lattice",
        status="assumed",
        evidence=f"moments estimated from {model.provenance.draws or 'given'} points"
        if is_estimated(model)
        else method,
    )


def with_names_of(certificate: Certificate, model: QueryModel) -> Certificate:
    """Return the certificate with what was found in the rows told by the names that statistics have in a model."""
    if certificate.law is None:
        return certificate
    again = _checked_assumption(model, certificate.law)
    told = (again if said.statement == again.statement else said for said in certificate.assumptions)
    return evolve(certificate, assumptions=tuple(told))


def _checked_assumption(model: QueryModel, law: CheckedLaw) -> Assumption:
    """Return what was found in the rows."""
    statement = "the statistics are as good as Gaussian with the modelled means and covariances, on their lattice"
    if law.is_complete:
        evidence = f"held against the rows: the exact law of {model.names[0]} has a δ of {law.projected:.3g}"
        return Assumption(statement=statement, status="checked", evidence=evidence)
    deviations = np.sqrt(np.max([np.diag(of.covariance) for of in model.distributions.values()], axis=0))
    along = combination_in_words(model.names, law.combination, deviations)
    ripple = "the noise leaves no ripple" if law.peak is None else f"the noise leaves a ripple of {law.ripple:.1e}"
    if law.peak is not None:
        said = combination_in_words(model.names, law.peak, deviations)
        leading = int(np.argmax(np.abs(np.array(law.peak)) * deviations))
        ripple += f" where {said} repeats every {2 * np.pi / abs(law.peak[leading]):.3g}"
    return Assumption(
        statement=statement,
        status="checked" if law.is_bell else "assumed",
        evidence=f"held against the rows: {_second_order(law)}; the exact law of {law.combinations} combinations has a "
        f"δ of at most {law.projected:.3g}, for {along}; {ripple}, and one is missed with a chance of {law.missed:.1e}",
    )


def _second_order(law: CheckedLaw) -> str:
    if law.gate is None or law.second_order is None:
        return "no second order was looked at"
    if law.gate > LARGEST_GATE:
        return (
            "no correction of the bell curve can be relied on, as they are too far from one, or δ is too small for "
            "noise that is not Gaussian"
        )
    if law.gate == 0:
        return f"by the exact law of all of them together δ is {law.second_order:.3g}"
    return f"by the second-order law δ is {law.second_order:.3g}, an error of {law.gate:.1g} of itself included"
