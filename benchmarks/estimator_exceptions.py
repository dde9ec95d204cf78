"""Methods whose estimator or aggregator costs more than the limit of `estimators.py`, and what it does."""

SLOWER: dict[str, str] = {}
