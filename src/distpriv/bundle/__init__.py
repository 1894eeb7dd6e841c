"""A bundle: what was released, what is promised about it, and all that it takes to check that."""

from distpriv.bundle.verify import Check, Verdict, verify_bundle

__all__ = ["Check", "Verdict", "verify_bundle"]
