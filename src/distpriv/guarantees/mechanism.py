"""A mechanism: F(Data) + Z, with what it promises."""

from attrs import frozen

from distpriv.guarantees.certificate import Certificate
from distpriv.noise.laws import NoiseLaw

__all__ = ["AdditiveMechanism"]


@frozen(kw_only=True)
class AdditiveMechanism:
    """Adds independent noise to the statistics; every mechanism of this library has this form."""

    name: str
    statistics: tuple[str, ...]
    noise: NoiseLaw
    certificate: Certificate

    def __str__(self) -> str:
        return f"{self.name}: expected error {self.noise.expected_l2:.4g} (L2)\n{self.certificate}"
