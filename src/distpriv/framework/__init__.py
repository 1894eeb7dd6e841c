"""The vocabulary of the field, as frozen values: targets, queries, secrets."""
