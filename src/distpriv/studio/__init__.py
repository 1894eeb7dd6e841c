"""A page on this machine: choose, slide, see at once, write the policy, release."""
