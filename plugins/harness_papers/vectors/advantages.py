"""Advantages of one reward per completion: GRPO and its nearest relatives, RLOO, REINFORCE++, ReMax, GAE."""

from __future__ import annotations

from harness.conformance.mapping import Case, Outcome, Run, maps, stack

VERL = "verl-project/verl"
VERL_COUNT = 1e-8  # verl adds it to the number of tokens in a masked mean
RAW_SINGLES = {"mean0", "mean0_std1", "raw_reward"}


def single(case: Case) -> str:
    """What a group of one gets: verl's loops keep the raw reward, everything else gives 0."""
    said = case.params.get("singleton", "raw_reward" if case.repo == VERL else "zero")
    case.require(singleton=(*RAW_SINGLES, "zero"))
    return "raw" if said in RAW_SINGLES else "zero"


def of_group_scores(case: Case) -> None:
    """The switches that name the ordinary z-score within a group: std over n - 1, eps added to it."""
    case.require(
        ddof=1, eps_place="std+eps", nulls=(False, True), aggregation="sum_then_normalize", variant="vectorized",
        mean="group", length_penalty=None, leave_one_out=False, critic_type=("grpo", "drgrpo"),
        estimator=("grpo", "dr_grpo", "group_norm", "rloo", "reinforce_plus_plus"),
    )  # fmt: skip


@maps("grpo")
def grpo(case: Case) -> Outcome:
    of_group_scores(case)
    case.require(scale_rewards=("group", True), std="group")
    scale = "group" if case.params.get("normalize", True) else "none"
    return Run(stack("grpo", beta=0, scale=scale, eps=case.params.get("eps", 1e-6), single=single(case)))


@maps("dr_grpo")
def dr_grpo(case: Case) -> Outcome:
    of_group_scores(case)
    case.require(scale_rewards=("none", False), std=None, norm_adv_by_std=False, normalize=False)
    case.params.get("eps")  # nothing is divided
    return Run(stack("dr-grpo", single=single(case)))


@maps("grpo_batch_std")
def grpo_batch_std(case: Case) -> Outcome:
    of_group_scores(case)
    case.require(scale_rewards="batch", std="batch")
    return Run(stack("grpo", beta=0, scale="batch", eps=case.params["eps"]))


@maps("grpo_loo")
def grpo_loo(case: Case) -> Outcome:
    case.require(leave_one_out=True, normalize=True)
    return Run(stack("grpo", beta=0, scale="others", eps=case.params["eps"]))


@maps("rloo")
def rloo(case: Case) -> Outcome:
    case.require(
        leave_one_out=True, scale_rewards=("none", "group", "batch"), ddof=1, estimator="rloo", variant="vectorized"
    )  # fmt: skip
    beta, normalize = case.params.get("beta", 0.0), bool(case.params.get("normalize", False))
    eps = case.params.get("eps", 1e-4)
    scale = case.params.get("scale_rewards", "none")
    text = stack("rloo", beta=beta, normalize=normalize, scale=scale, eps=eps, single=single(case))
    return Run(text, probe="shaped_advantages" if beta else "advantages")


@maps("remax")
def remax(case: Case) -> Outcome:
    return Run("remax(beta=0)", {"baseline": None, "greedy_reward": case.inputs["baseline"]})


@maps("reinforce_pp")
def reinforce_pp(case: Case) -> Outcome:
    case.require(whiten="token", minus_baseline=False, ddof=(0, 1))
    population = case.params.get("ddof", 1) == 0
    eps = case.params["var_floor"] if population else case.params.get("eps", 1e-8)
    beta, kind = case.params.get("kl_coef", 0), case.params.get("kl", "k1")
    text = stack(
        "reinforce-pp", beta=beta, kl="low_var" if kind == "k3" else kind, returns=False,
        gamma=case.params.get("gamma", 1.0), eps=eps, population=population,
        count_eps=VERL_COUNT if case.repo == VERL else 0.0,
    )  # fmt: skip
    return Run(text)


@maps("gae")
def gae(case: Case) -> Outcome:
    case.require(whiten=("token", None))
    whiten = case.params.get("whiten") == "token"
    gamma, lam = case.params["gamma"], case.params["lam"]
    return Run(stack("ppo", gamma=gamma, lam=lam, whiten=whiten, count_eps=VERL_COUNT if case.repo == VERL else 0.0))


@maps("mc_grpo")
def mc_grpo(case: Case) -> Outcome:
    case.require(drops_median=True)
    return Run(stack("mc-grpo", eps=case.params["eps"]))


@maps("delta_l")
def delta_l(case: Case) -> Outcome:
    case.require(ddof=1)
    eps = case.params.get("eps", 1e-6)
    scaled = case.params.get("norm_adv_by_std", True)
    below = stack("grpo", beta=0, eps=eps, single="raw") if scaled else stack("dr-grpo", single="raw")
    return Run(f"{below}+{stack('delta-l', alpha=case.params['alpha'], advantages=True)}")
