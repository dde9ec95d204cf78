"""Writes trial directories as a run would leave them, with numbers that a test chooses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

TASKS = ("math", "code")
BUDGET = 1_200_000.0
GRPO = "grpo(beta=0)"
PROVENANCE = {
    "packages": {"torch": "2.13.0", "policy-harness": "0.1.0"},
    "commit": "abc",
    "cpu": "model A",
    "threads": 1,
}


def write_trial(
    root: Path,
    method: str,
    seed: int,
    curve: Sequence[float] | Mapping[str, Sequence[float]],
    *,
    status: str | None = "done",
    suite: str = "tiny",
    rules: int = 1,
    clips: bool = False,
    clip_share: float = 0.1,
    discarded: float = 0.0,
    experimental: bool = False,
    unweighed: Sequence[str] | None = None,
    provenance: Mapping[str, Any] = PROVENANCE,
    steps: int = 40,
    progress: Sequence[float] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Path:
    """One trial whose evaluations, evenly spread over the budget, score `curve` on every task (or per task)."""
    curves = dict(curve) if isinstance(curve, Mapping) else {task: list(curve) for task in TASKS}
    length = len(next(iter(curves.values())))
    shares = list(progress) if progress is not None else np.linspace(0, 1, max(length, 2))[:length].tolist()
    directory = root / "".join(c if c.isalnum() or c in "+-" else "_" for c in method) / f"seed-{seed}"
    directory.mkdir(parents=True, exist_ok=True)
    names = [part.split("(")[0] for part in method.split("+")]
    write_json(directory / "config.json", {
        "config": {"suite": suite, "rules": rules, "method": method, "seed": seed,
                   "budget": {"compute": BUDGET, "seconds": None}},
        "stack": method,
        "spec": {"plugins": [
            {"label": name, "name": name, "params": {}, "digest": "00", "distribution": "policy-harness",
             "version": "0.1.0"} for name in names
        ]},
        "clips": clips,
        "experimental": experimental,
        **({} if unweighed is None else {"unweighed": list(unweighed)}),
        "trial_key": f"key-{method}-{seed}-{rules}",
        "provenance": dict(provenance),
    })  # fmt: skip
    write_lines(directory / "evaluations.jsonl", [
        {"step": round(share * steps), "spent": share * BUDGET, "progress": share,
         "tasks": {task: measures(values[i]) for task, values in curves.items()},
         "score": float(np.mean([values[i] for values in curves.values()]))}
        for i, share in enumerate(shares)
    ])  # fmt: skip
    reached = shares[-1] if shares else 0.0
    write_lines(directory / "metrics.jsonl", [
        {"step": step, "spent": (step + 1) / steps * BUDGET, "progress": (step + 1) / steps, "loss": 0.1 / (step + 1),
         "reward": step / steps, "clip_share": clip_share, **(metrics or {})}
        for step in range(int(steps * reached))
    ])  # fmt: skip
    write_lines(
        directory / "timing.jsonl",
        [
            {"step": step, "total": 1.0, "stages": {"rounds": 0.6, "update": 0.4}}
            for step in range(int(steps * reached))
        ],
    )
    write_json(directory / "ledger.json", {
        "currency": "compute", "limit": BUDGET, "spent": reached * BUDGET,
        "categories": {"generate": 250_000.0, "prompt": 20_000.0, "train": 800_000.0, "reference": 100_000.0},
        "counts": {"rollouts_requested": 1000, "tokens_generated": 250_000, "tokens_discarded": 250_000 * discarded},
    })  # fmt: skip
    if length:
        write_lines(directory / "items.jsonl", [
            {"task": task, "key": f"{task}-{item}", "greedy": item % 3 == seed % 3, "samples": 4,
             "correct_samples": round(4 * values[-1])} for task, values in curves.items() for item in range(6)
        ])  # fmt: skip
    (directory / "result.json").unlink(missing_ok=True)
    if status is not None:
        error = "loss is not finite at step 7" if status != "done" else None
        write_json(directory / "result.json", {"status": status, "error": error, "spent": reached * BUDGET})
    return directory


def measures(score: float) -> dict[str, float]:
    """The measures that an evaluation of one task holds."""
    return {"accuracy": min(1.0, score + 0.02), "pass_at_1": score, "pass_at_k": min(1.0, score + 0.1), "k": 4,
            "length": 20.0, "truncated": 0.01, "problems": 500}  # fmt: skip


def write_suite(root: Path, methods: Sequence[str], seeds: int | Sequence[int], **settings: Any) -> None:
    """The resolved suite beside the trials."""
    listed = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    value = {"name": "tiny", "rules": 1, "question": "Which learns most?", "baseline": GRPO, "methods": list(methods),
             "seeds": listed, "budget": {"compute": BUDGET}, **settings}  # fmt: skip
    root.mkdir(parents=True, exist_ok=True)
    (root / "suite.yaml").write_text(json.dumps(value), encoding="utf-8")  # JSON is YAML


def write_demo(root: Path, *, seeds: int = 5, seed: int = 0) -> Path:
    """A whole suite: methods of known strengths, the control rows, and one failure."""
    generator = np.random.default_rng(seed)
    gains = {GRPO: 0.15, "dr-grpo": 0.15, "dapo+f-grpo(gamma=2)": 0.22, "gspo": 0.15, "raft": 0.02, "rloo": 0.16,
             f"{GRPO}+random-reward": -0.05}  # fmt: skip
    start, luck = 0.25 + 0.01 * generator.standard_normal(seeds), 0.02 * generator.standard_normal(seeds)
    rows: dict[str, list[list[float]]] = {}
    for method, gain in gains.items():
        noise = 0.008 * generator.standard_normal((seeds, 4))
        rows[method] = [
            [float(start[s])]
            + [float(start[s] + gain * (q / 4) ** 0.5 + luck[s] + noise[s, q - 1]) for q in range(1, 5)]
            for s in range(seeds)
        ]
    rows[f"{GRPO}+placebo"] = rows[GRPO]
    for method, curves in rows.items():
        for s, curve in enumerate(curves):
            failed = method == "raft" and s == 1
            write_trial(
                root, method, s, curve[:3] if failed else curve, status="diverged" if failed else "done",
                clips="gspo" in method or "dapo" in method, clip_share=0.0 if method == "gspo" else 0.02,
                discarded=0.3 if "dapo" in method else 0.0, experimental=method == "rloo",
                progress=[0, 0.25, 0.5] if failed else None,
            )  # fmt: skip
    write_suite(root, [m for m in gains if "random" not in m], seeds)
    return root


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_lines(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
