"""Whether what a bundle promises holds, from the bundle alone."""

from distpriv.workflow.verifying.verdicts import Check, NotChecked, Verdict
from distpriv.workflow.verifying.verify import verify_bundle

__all__ = ["Check", "NotChecked", "Verdict", "verify_bundle"]
