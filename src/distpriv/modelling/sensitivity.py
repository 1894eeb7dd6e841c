"""How far apart the scenarios' means are: sensitivities and directions of the mean shifts."""

import numpy as np

from distpriv.errors import AssumptionViolated
from distpriv.framework.arrays import Floats
from distpriv.modelling.model import QueryModel, require_model

__all__ = ["common_direction", "mean_sensitivity", "mean_shifts", "shift_basis"]


def mean_shifts(model: QueryModel) -> Floats:
    """Return d_ij of every protected pair, one a row."""
    require_model(model)
    return np.array([model.mean_shift(pair) for pair in model.protected_pairs])


def mean_sensitivity(model: QueryModel, order: int) -> float:
    r"""Return Δ_{E,n}, the largest n-norm of a mean shift: :math:`\max_{(i,j) ∈ Ψ} ‖μ_i - μ_j‖_n`."""
    return float(np.linalg.norm(mean_shifts(model), ord=order, axis=1).max())


def shift_basis(model: QueryModel) -> Floats:
    """Return an orthonormal basis, as columns, of the span of all mean shifts."""
    shifts = mean_shifts(model)
    _, sizes, directions = np.linalg.svd(shifts, full_matrices=False)
    return np.asarray(directions[(sizes > 0) & (sizes >= 1e-9 * sizes.max(initial=0.0))].T)


def common_direction(model: QueryModel, theorem: str) -> Floats:
    """Return the unit vector v that all mean shifts are parallel to, or refuse in the name of the theorem."""
    basis = shift_basis(model)
    if basis.shape[1] > 1:
        shifts = mean_shifts(model)
        along = shifts @ basis[:, :1]
        across = np.linalg.norm(shifts - along @ basis[:, :1].T, axis=1).max()
        raise AssumptionViolated(
            f"{theorem} needs mean shifts that are all parallel, and these are up to {across:.3g} off one direction: "
            "use directions='several' where there is such an option, or another mechanism."
        )
    return np.asarray(basis[:, 0])
