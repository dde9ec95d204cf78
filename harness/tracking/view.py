"""The saved view that opens MLflow's runs table as the board: method rows, sorted, with the columns that matter.

MLflow's pages keep such a view as an experiment tag: a JSON envelope around the state that its own "Views" menu saves.
A version that does not understand it falls back to the plain table, where `plain_link` still filters and sorts.
"""

from __future__ import annotations

import json
from urllib.parse import quote

__all__ = ["ORDER", "PAGE", "VIEW", "VIEW_TAG", "curves_link", "deep_link", "plain_link", "run_link", "saved_view"]

ORDER = "delta_low"  # the board's order: the lower end of the difference to the baseline
PAGE = "leaderboard.html"  # of the board's run
VIEW = "leaderboard"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
ONLY_METHODS = "tags.row = 'method'"
NO_SEEDS = "tags.row != 'seed'"  # the methods, and last the run that holds the board's files
TRAINING = "?workflowType=machine_learning"  # without it MLflow's pages open on what it has for GenAI
CREATED = 1_700_000_000_000  # any fixed moment: MLflow wants one, and a constant leaves the tag unchanged
WIDTHS = {  # column -> pixels; the first five fit beside MLflow's own on a screen of 1600
    "metrics.`score`": 72, "tags.`score interval`": 118, "tags.`difference`": 192, "tags.`verdict`": 68,
    "metrics.`waste`": 62, "tags.`seeds`": 55, "metrics.`seconds`": 75, "metrics.`failures`": 70, "metrics.`extra`": 65,
}  # fmt: skip


def saved_view() -> str:
    """The envelope for the tag VIEW_TAG."""
    state = {
        "searchFilter": NO_SEEDS, "orderByKey": f"metrics.`{ORDER}`", "orderByAsc": False,
        "selectedColumns": list(WIDTHS), "columnOrder": list(WIDTHS), "columnWidths": WIDTHS,
    }  # fmt: skip
    return json.dumps({"name": "Leaderboard", "createdAt": CREATED, "updatedAt": CREATED, "state": json.dumps(state)})


def deep_link(experiment_id: str, server: str = "") -> str:
    """The board in MLflow's pages: model training rather than GenAI, with the saved view."""
    return f"{runs_page(experiment_id, server)}&viewStateShareKey={VIEW}"


def plain_link(experiment_id: str, server: str = "", order: str = ORDER) -> str:
    """The runs table with method rows only, sorted as the board is; its columns are MLflow's own choice."""
    rows, key = quote(ONLY_METHODS, safe=""), quote(f"metrics.`{order}`", safe="")
    return f"{runs_page(experiment_id, server)}&searchFilter={rows}&orderByKey={key}&orderByAsc=false"


def curves_link(experiment_id: str, server: str = "", method: str = "") -> str:
    """The curves of all seeds over the budget, or those of one method's, in MLflow's charts."""
    rows = "tags.row = 'seed'" + (f' AND tags.method = "{method}"' if method else "")
    return f"{runs_page(experiment_id, server)}&searchFilter={quote(rows, safe='')}&compareRunsMode=CHART"


def runs_page(experiment_id: str, server: str) -> str:
    """The runs of an experiment."""
    return f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs{TRAINING}"


def run_link(experiment_id: str, run_id: str, server: str = "", artifact: str = "") -> str:
    """The page of a run, or one of its files there."""
    place = f"{server.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}"
    return f"{place}/artifacts/{artifact}{TRAINING}" if artifact else f"{place}{TRAINING}"
