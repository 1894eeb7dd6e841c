"""From a policy to what is wrong with its private table, for the curator's eyes only."""

from distpriv.ledger import History
from distpriv.policy import Policy, read_policy
from distpriv.releasing.check import PrivateCheck, check_private
from distpriv.releasing.fixed import fixed_questions
from distpriv.releasing.private import require_source
from distpriv.releasing.written_queries import query_key

__all__ = ["check_policy", "is_answered"]


def check_policy(path: str | Policy, *, only: str | None = None, compare: bool = True) -> PrivateCheck:
    """Compare the private table of a policy with its reference; nothing is written anywhere.

    Args:
        path: the policy, or one that was read already.
        only: which of several releases.
        compare: whether to measure how unlike the distributions are.

    Raises:
        InvalidInput: the policy cannot be followed, or there is no such table.
    """
    policy = (path if isinstance(path, Policy) else read_policy(path)).only(only or getattr(path, "asked", None))
    source = policy.private_source()
    require_source(source)
    return check_private(source, policy.model(), policy.accepted, compare=compare)


def is_answered(history: History, policy: Policy) -> bool:
    """Tell whether the ledger has the answer already, which is shown again whatever has become of the table."""
    key = query_key(policy.query(), policy.records)
    return any(question.entry is not None for question in fixed_questions(history) if question.query_key == key)
