"""Laws of noise as plain dictionaries, and back: what a plan, a bundle and a ledger write down."""

from typing import Any

import numpy as np

from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise

__all__ = ["noise_from_dict", "noise_to_dict"]


def noise_to_dict(noise: NoiseLaw) -> dict[str, Any]:
    """Return a law as numbers, lists and text.

    >>> noise_to_dict(LaplaceNoise.isotropic(1, 2.0))
    {'law': 'laplace', 'axes': [[1.0]], 'scales': [2.0]}
    """
    return noise.to_dict()


def noise_from_dict(values: Any) -> NoiseLaw:
    """Return the law that `noise_to_dict` wrote down, to the last bit.

    >>> noise_from_dict({"law": "none", "dimension": 2})
    NoNoise(dimension=2)
    """
    try:
        match values["law"]:
            case "gaussian":
                return GaussianNoise(axes=_axes(values), variances=values["variances"])
            case "laplace":
                return LaplaceNoise(axes=_axes(values), scales=values["scales"])
            case "unimodal":
                return UnimodalNoise(axes=_axes(values), edges=values["edges"], masses=values["masses"])
            case "none":
                return NoNoise(dimension=int(values["dimension"]))
            case "sum":
                parts = tuple(noise_from_dict(part) for part in values["parts"])
                return SumNoise(parts=parts)  # type: ignore[arg-type]
    except (TypeError, KeyError, ValueError, AttributeError) as failure:
        raise InvalidInput(f"this describes no law of noise: {values!r}.") from failure
    raise InvalidInput(
        f"there is no law of noise called {values['law']!r}: it is gaussian, laplace, unimodal, sum or none."
    )


def _axes(values: Any) -> Any:
    """Return axes as rows; without any axis there is nothing in a row."""
    return np.array(values["axes"], dtype=np.float64).reshape(len(values["axes"]), -1)
