"""The run of a method that no mapping function knows: by its name, and by what its params are called.

Sources call the same thing by many names; what is said here holds for all of them. A case that agrees this way has
passed. One that does not is not mapped, rather than failed: names are a guess.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from harness.conformance.mapping import Case, Run, guesses, stack
from harness.host import Catalogue
from harness_papers.vectors.reductions import reduction, trl_reduction

ENDINGS = ("", "-loss", "-advantage", "-mask", "-weight", "-reward")
PREFIXES = ("clip_ratio", "epsilon", "eps_clip", "ratio_clip", "pg_clip")
SIDES = {"low": "clip_low", "min": "clip_low", "high": "clip_high", "max": "clip_high", "c": "dual"}
CLIPS = {f"{prefix}_{end}": field for prefix in PREFIXES for end, field in SIDES.items()} | {"delta": "cap"}
FIELDS = {**CLIPS, "norm_adv_by_std": "scale", "std_normalize": "scale", "lambda": "lam", "Lambda": "lam"}
CENTRES = ("clip_ratio", "pg_clip", "epsilon")  # one number for both sides
LOOPS = ("verl-project/verl", "verl-project/verl-recipe")  # a group of one keeps its reward there


@guesses
def by_name(case: Case, catalogue: Catalogue) -> tuple[Run, list[str]] | None:
    """(the guessed run, the params that it leaves out); None if no method is called so."""
    slug = _slug(case.method, catalogue)
    if slug is None:
        return None
    fields = {field.name for field in catalogue[slug].fields}
    params = _flat(case.params)
    given = {field: params[name] for name in params if (field := _field(name, slug, fields, params))}
    if "single" in fields and "single" not in given:
        given["single"] = "raw" if _raw(case) else "zero"
    left = [name for name in params if _field(name, slug, fields, params) is None]
    text = stack(slug, **given)
    below = {CLIPS[name]: params[name] for name in left if name in CLIPS}
    if below and case.kind == "policy_loss" and catalogue[slug].hooks.get("policy_loss") != "plain":
        text = f"{stack('ppo-clip', **below)}+{text}"
        left = [name for name in left if name not in CLIPS]
    if "beta" in left and params["beta"] and "logp_ref" in case.inputs:
        text += "+" + stack("kl", beta=params["beta"])
    aggregator = _aggregator(case)
    left = [name for name in left if name not in {"agg", "loss_type", "beta", "max_completion_length"}]
    return Run(text if aggregator is None else f"{text}+{aggregator}", {"num_items_in_batch": None}), left


def _slug(method: str, catalogue: Catalogue) -> str | None:
    plain = method.replace("_", "-")
    names = (plain.removesuffix(ending) for ending in ENDINGS if plain.endswith(ending))
    return next((name for name in names if name in catalogue), None)


def _field(name: str, slug: str, fields: Collection[str], params: dict[str, Any]) -> str | None:
    """The plugin's field of a param: the same name, a synonym, or the one field that ends it."""
    exact = (name, name.removeprefix(slug.replace("-", "_") + "_"), FIELDS.get(name))
    for choice in exact:
        if choice in fields:
            return choice
    if name in CENTRES:
        return "clip" if "clip" in fields else None
    ends = [field for field in fields if name.endswith(f"_{field}") and field not in params]
    return ends[0] if len(ends) == 1 else None


def _raw(case: Case) -> bool:
    said = case.params.get("singleton")
    return case.repo in LOOPS if said is None else said != "zero"


def _flat(params: dict[str, Any]) -> dict[str, Any]:
    """Params of params as if they stood beside them."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        found |= value if isinstance(value, dict) else {name: value}
    return found


def _aggregator(case: Case) -> str | None:
    if case.kind != "policy_loss":
        return None
    if "agg" in case.params:
        return reduction(case)
    return trl_reduction(case) if "loss_type" in case.params else None
