"""A policy file: what to publish, what to hide, and how well."""

from distpriv.policy.load import LedgerPolicy, Policy, policy_of, read_policy

__all__ = ["LedgerPolicy", "Policy", "policy_of", "read_policy"]
