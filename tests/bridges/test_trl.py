"""One step of TRL under a stack has the learner's gradient, and TRL's own where both have the method."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from harness import hookimpl, method
from harness.errors import HarnessError, UsageError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    trl = pytest.importorskip("trl")
    from harness.bridges.trl import StackTrainer
    from tests.bridges.trl_runs import EMBEDDED, GROUP, MAX, ROWS, apart, gradients, trainer

from harness.batch import Batch, PromptRecord
from harness.bridges.contract import as_stack
from harness.budget import Budget, Ledger
from harness.policies.policy import Policy
from harness.training.config import LearnerConfig, OptimizerConfig
from harness.training.learner import Learner

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CLOSE = 1e-5
DAPO = {"stack": "dapo(dynamic=False)", "without": ("keep", "next_round")}
STACKS = {
    "grpo": {"stack": "grpo(beta=0)"},
    "grpo with a reference": {"stack": "grpo(beta=0.2)"},
    "dr-grpo": {"stack": "dr-grpo"},
    "dr-grpo+f-grpo": {"stack": "dr-grpo+f-grpo"},
    "dapo": DAPO,
    "dapo without truncated": {**DAPO, "stack": "dapo(dynamic=False, drop_truncated=True)"},
    "gdpo": {"stack": "gdpo"},
    "gspo": {"stack": "gspo"},
    "cispo": {"stack": "cispo"},
    "raft": {"stack": "raft"},
    "rloo with a reference": {"stack": "rloo(beta=0.1)"},
}


def ours(made, step=0, window=slice(None)):
    """The learner's gradient on the rows that TRL generated, from ids, rewards and old log-probabilities alone."""
    policy = Policy.load(EMBEDDED)
    reference = policy.clone()
    policy.model.load_state_dict(made.grab.weights[step])
    parts = made._buffered_inputs
    found = {name: torch.cat([part[name] for part in parts]) for name in parts[0] if parts[0][name].dim()}
    mask = found["completion_mask"].float()
    rewards = made._columns
    prompt = torch.arange(ROWS) // GROUP
    zeros = torch.zeros(ROWS, dtype=torch.long)
    last = found["completion_ids"].gather(1, (mask.sum(1, keepdim=True) - 1).long())[:, 0]
    batch = Batch(
        prompt_ids=found["prompt_ids"], prompt_mask=found["prompt_mask"], completion_ids=found["completion_ids"],
        mask=mask, logp_sampler=torch.zeros_like(mask), prompt=prompt, rollout=torch.arange(ROWS) % GROUP, round=zeros,
        age=zeros, rewards=rewards, reward_names=("digits", "even"), reward_weights=torch.tensor([1.0, 0.5]),
        correct=rewards[:, 0] > 0.5, lengths=mask.sum(1).long(), truncated=last != policy.tokenizer.eos_token_id,
        temperature=torch.ones(ROWS), max_tokens=MAX, prompts=(PromptRecord("k", "t", "trl"),) * ROWS,
        group_keys=prompt, kept=zeros == 0, logp_old=found.get("old_per_token_logps"),
    )  # fmt: skip
    stack = as_stack(made.stack.canonical)
    if "reference" in stack.needs:
        batch = batch.replace(logp_ref=reference.score(batch.prompt_ids, batch.completion_ids, **_masks(batch)))
    if batch.logp_old is None:
        batch = batch.replace(logp_old=policy.score(batch.prompt_ids, batch.completion_ids, **_masks(batch)))
    hooks = stack.caller(None)
    batch = hooks.shape_rewards(batch=batch)
    batch = batch.replace(advantages=hooks.estimate_advantages(batch=batch))
    chosen = hooks.train_on(batch=batch)
    batch = (batch if chosen is None else batch.replace(mask=batch.mask * chosen))[window]
    learner = Learner(
        policy, LearnerConfig(max_grad_norm=None), OptimizerConfig(), Ledger(Budget(updates=9)), needs=stack.needs
    )
    learner.hooks = hooks
    learner.backward(batch)
    return {name: parameter.grad for name, parameter in policy.model.named_parameters()}


def _masks(batch):
    return {"prompt_mask": batch.prompt_mask, "mask": batch.mask}


@pytest.mark.parametrize("options", STACKS.values(), ids=STACKS)
def test_the_gradients_of_two_passes_over_a_batch_are_the_learner_s(tmp_path, options):
    made = trainer(StackTrainer, tmp_path, num_iterations=2, steps=2, **options)
    made.train()
    assert made._whole.truncated.any()
    assert not made._whole.truncated.all()
    assert apart(made.grab.grads[0], ours(made)) < CLOSE
    assert apart(made.grab.grads[1], ours(made, 1)) < CLOSE


@pytest.mark.parametrize("options", STACKS.values(), ids=STACKS)
def test_so_is_the_gradient_of_accumulated_micro_batches(tmp_path, options):
    made = trainer(StackTrainer, tmp_path, cut=4, **options)
    made.train()
    assert apart(made.grab.grads[0], ours(made)) < CLOSE


THEIRS = {
    "grpo": ("grpo(beta=0, eps=1e-4)", {"loss_type": "grpo"}),
    "grpo with a reference": (
        "grpo(beta=0.2, eps=1e-4)", {"loss_type": "grpo", "beta": 0.2, "use_bias_correction_kl": False},
    ),
    "grpo over the batch's std": (
        "grpo(beta=0, eps=1e-4, scale='batch')", {"loss_type": "grpo", "scale_rewards": "batch"},
    ),
    "dr-grpo": ("dr-grpo", {"loss_type": "dr_grpo", "scale_rewards": "none"}),
    "cispo": ("grpo(beta=0, eps=1e-4)+cispo(cap=1.2)", {"loss_type": "cispo", "epsilon_high": 1.2}),
    "gdpo": ("gdpo", {"loss_type": "grpo", "multi_objective_aggregation": "normalize_then_sum"}),
    "gspo": (
        "grpo(beta=0, eps=1e-4)+gspo(clip_low=0.01, clip_high=0.02)",
        {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 0.01, "epsilon_high": 0.02},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("stack", "settings"), THEIRS.values(), ids=THEIRS)
def test_where_trl_has_the_method_the_gradients_are_trl_s(tmp_path, stack, settings):
    theirs = gradients(trl.GRPOTrainer, tmp_path, num_iterations=2, steps=2, **settings)
    found = gradients(StackTrainer, tmp_path, num_iterations=2, steps=2, stack=stack)
    assert apart(found[0], theirs[0]) < CLOSE
    assert apart(found[1], theirs[1]) < CLOSE


@method(needs={"entropy"})
class Coupled:
    """A loss that couples all rows of a minibatch."""

    @hookimpl
    def loss(self, batch, output):
        per_row = (batch.weights * output.ratio * batch.advantages).sum(1)
        return -torch.logsumexp(5 * per_row, 0) - (batch.weights * output.entropy).sum() ** 2

    @hookimpl
    def regularize(self, batch, output):
        return (output.ratio * batch.mask).mean() ** 2


def test_accumulation_is_exact_for_a_loss_that_couples_rows(tmp_path):
    options = {"stack": Coupled, "num_iterations": 2, "steps": 4}
    whole = gradients(StackTrainer, tmp_path, **options)
    cut = gradients(StackTrainer, tmp_path, cut=4, **options)
    assert max(apart(one, other) for one, other in zip(cut, whole, strict=True)) < 10 * CLOSE  # four steps add up


@pytest.mark.parametrize("name", ["grpo", "grpo with a reference", "gspo"])
def test_without_measuring_the_gradient_is_the_same(tmp_path, name):
    made = trainer(StackTrainer, tmp_path, cut=4, measure=False, **STACKS[name])
    made.train()
    assert "old_per_token_logps" not in made._buffered_inputs[0]
    assert apart(made.grab.grads[0], ours(made)) < CLOSE


@pytest.mark.parametrize("name", ["grpo with a reference", "gspo"])
def test_rows_that_stand_alone_need_one_pass(tmp_path, name):
    made = trainer(StackTrainer, tmp_path, cut=4, rowwise=True, **STACKS[name])
    made.train()
    assert made._windows[0].slopes is None
    assert apart(made.grab.grads[0], ours(made)) < CLOSE


def test_the_promise_that_rows_stand_alone_is_refused_for_a_scalar_regularizer(tmp_path):
    made = trainer(StackTrainer, tmp_path, cut=4, rowwise=True, stack=Coupled)
    with pytest.raises(HarnessError, match="regularize of 'coupled' returns a scalar"):
        made.train()


def test_several_optimizer_steps_a_generation_hold_whole_groups(tmp_path):
    made = trainer(
        StackTrainer, tmp_path, stack="dr-grpo", steps=2, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        steps_per_generation=4,
    )  # fmt: skip
    made.train()
    assert [window.batch.groups.count().tolist() for window in made._windows] == [[GROUP] * 8] * 2
    assert apart(made.grab.grads[1], ours(made, 1, slice(8, 16))) < CLOSE


def test_evaluation_leaves_training_and_plugins_alone(tmp_path):
    from datasets import Dataset

    held = Dataset.from_list([{"prompt": f"{30 + i}+{i}="} for i in range(4)])
    options = {"stack": "grpo(beta=0)", "cut": 2, "num_iterations": 2, "steps": 2}
    plain = gradients(StackTrainer, tmp_path, **options)
    made = trainer(
        StackTrainer, tmp_path, eval_dataset=held, eval_strategy="steps", eval_steps=1,
        per_device_eval_batch_size=4, **options,
    )  # fmt: skip
    made.train()
    assert "eval_reward" in next(log for log in made.state.log_history if "eval_loss" in log)
    assert apart(made.grab.grads[1], plain[1]) < CLOSE


@pytest.mark.parametrize("measure", [True, False])
def test_what_hooks_know_of_the_policy_before_the_update(tmp_path, measure):
    seen = []

    @method
    class Reads:
        @hookimpl
        def estimate_advantages(self, batch):
            seen.append(batch)
            return batch.groups.center(batch.reward)

        @hookimpl
        def policy_loss(self, batch, output):
            on = batch.mask > 0
            torch.testing.assert_close(batch.logp_sampler[on], batch.logp_old[on])
            return -(output.logp - batch.logp_sampler).exp() * batch.advantages

    trainer(StackTrainer, tmp_path, stack=Reads, measure=measure, cut=2).train()
    assert bool(seen[0].logp_sampler.isnan().all()) is not measure
    assert (seen[0].logp_old is None) is not measure
    if measure:
        assert torch.equal(seen[0].logp_sampler, seen[0].logp_old)


@method
class Counts:
    """State, a metric, and random numbers."""

    @hookimpl
    def start(self, run):
        self.steps = 0
        self.size = run.group_size

    @hookimpl
    def estimate_advantages(self, batch, state):
        self.steps += 1
        noise = torch.rand(len(batch), generator=state.generator)
        return batch.groups.center(batch.reward + noise)

    @hookimpl
    def end_step(self, batch, metrics):
        return {"steps": self.steps, "size": self.size, "rows": len(batch), "known": float("entropy" in metrics)}


def test_state_of_plugins_is_saved_and_resumed_and_metrics_are_logged(tmp_path):
    made = trainer(StackTrainer, tmp_path, stack=Counts, max_steps=2, save_strategy="steps", save_steps=2)
    made.train()
    last = [log for log in made.state.log_history if "method/steps" in log][-1]
    assert (last["method/steps"], last["method/size"], last["method/rows"]) == (2, GROUP, ROWS)
    assert last["method/known"] == 1
    again = trainer(StackTrainer, tmp_path, stack=Counts, max_steps=3)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert again.state.log_history[-2]["method/steps"] == 3


def test_the_record_says_what_ran_and_what_it_did_without(tmp_path):
    trainer(StackTrainer, tmp_path, **DAPO).train()
    record = json.loads((tmp_path / "harness.json").read_text(encoding="utf-8"))
    assert record["without"] == ["keep", "next_round"]
    assert record["canonical"] == "dapo(dynamic=False)"
    assert record["trl"].startswith("1.16")
    assert [plugin["label"] for plugin in record["plugins"]] == ["grpo", "dapo"]


def test_the_table_of_completions_shows_the_stack_s_advantages(tmp_path):
    made = trainer(StackTrainer, tmp_path, stack="dr-grpo")
    made.train()
    assert list(made._logs["advantages"]) == made._whole.advantage.tolist()


def test_the_reward_function_that_decides_what_is_correct(tmp_path):
    made = trainer(StackTrainer, tmp_path, stack="dr-grpo+f-grpo", correct="even", correct_above=0.9)
    made.train()
    assert torch.equal(made._whole.correct, made._columns[:, 1] > 0.9)
    with pytest.raises(UsageError, match="correct='odd' is no reward function; known: digits, even"):
        trainer(StackTrainer, tmp_path, stack="dr-grpo", correct="odd")


REFUSED = {
    "a hook": ({"stack": "dapo"}, "trl bridge cannot carry keep, next_round of 'dapo'"),
    "a setting of the loss": ({"loss_type": "dr_grpo"}, r"GRPOConfig\(loss_type='dr_grpo'\) has no effect"),
    "a penalty": ({"beta": 0.1}, r"GRPOConfig\(beta=0.1\) has no effect: the stack grpo says it"),
    "masking": ({"mask_truncated_completions": True}, "mask_truncated_completions=True.* has no effect"),
    "mixed generations": (
        {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4, "steps_per_generation": 2},
        "steps_per_generation=2 is not a multiple of gradient_accumulation_steps=4.* set it to 4",
    ),
    "cut groups": (
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 1, "steps_per_generation": 8},
        "8 optimizer steps of 2 rows a device, which cuts groups of num_generations=4",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_before_training_in_one_line(tmp_path, options, message):
    with pytest.raises(UsageError, match=message) as refused:
        trainer(StackTrainer, tmp_path, **{"stack": "grpo", **options})
    assert "\n" not in str(refused.value)


def test_a_hook_that_is_hidden_is_found_after_the_first_step(tmp_path):
    @method
    class Hides:
        @hookimpl
        def loss(self, batch, output):
            return (output.logp * batch.weights).sum()

    @method
    class Hidden:
        @hookimpl(wrapper=True)
        def policy_loss(self):
            return (yield)

    from harness.host import build_stack, discover

    stack = build_stack("hides+hidden", discover().with_class(Hides).with_class(Hidden))
    made = trainer(StackTrainer, tmp_path, stack=stack)
    with pytest.raises(HarnessError, match="loss of 'hides' never calls policy_loss"):
        made.train()


def test_the_example_of_the_docs_runs(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "bridges.md").read_text(encoding="utf-8")
    example = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "StackTrainer" in block)
    changes = {
        '"Qwen/Qwen2.5-0.5B-Instruct"': repr(str(EMBEDDED)),
        'GRPOConfig("out", ': f"GRPOConfig({str(tmp_path)!r}, max_steps=1, use_cpu=True, bf16=False, report_to=[], ",
        "max_completion_length=512": "max_completion_length=8",
    }
    for written, run in changes.items():
        assert written in example
        example = example.replace(written, run)
    exec(compile(example, "docs/bridges.md", "exec"), {"__name__": "example"})
    record = json.loads((tmp_path / "harness.json").read_text(encoding="utf-8"))
    assert record["canonical"] == "dr-grpo+f-grpo"


@pytest.mark.slow
def test_two_processes_have_the_gradient_of_one():
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "-m", "tests.bridges.trl_processes"], capture_output=True, text=True, check=False, timeout=500,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.partition("FOUND ")[2].splitlines()[0])
    assert (found.pop("processes"), found.pop("rows")) == (2, ROWS)
    assert max(found.values()) < CLOSE
