"""Addresses inside MLflow's pages."""

from __future__ import annotations

from urllib.parse import quote

__all__ = ["ORDER", "deep_link", "run_link"]

ORDER = "delta_low"  # the board's order: the lower end of the difference to the baseline


def deep_link(experiment_id: str, server: str = "", order: str = ORDER) -> str:
    """The runs table of an experiment: method rows only, sorted as the board is."""
    rows = quote("tags.row = 'method'", safe="")
    key = quote(f"metrics.`{order}`", safe="")
    return (
        f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs"
        f"?searchFilter={rows}&orderByKey={key}&orderByAsc=false&compareRunsMode=TABLE"
    )


def run_link(experiment_id: str, run_id: str, server: str = "") -> str:
    """The page of a run."""
    return f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}"
