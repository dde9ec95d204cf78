"""How fast a step could be: a hand-written sampler and update for one fixed shape, with nothing around them.

No padding, no masks, no hooks, no attention to other models: rows of equal length, learned positions, a cache allocated
once, Gumbel noise, a policy gradient without a ratio's clip. A library that does more can only be slower, unless it
computes less (the harness reads every prompt once for its group also in the update; this does not).

    python benchmarks/raw_bound.py --layers 4 --width 128 --new 16
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

__all__ = ["Bound"]


class Block(nn.Module):
    """Pre-norm attention and a gated feed-forward: as many parameters as a Llama block."""

    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, tokens, width = x.shape
        parts = self.qkv(self.first(x)).view(rows, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v

    def finish(self, x: Tensor, read: Tensor) -> Tensor:
        x = x + self.out(read.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Network(nn.Module):
    """A causal language model with tied embeddings and learned positions."""

    def __init__(self, *, vocabulary: int, width: int, layers: int, heads: int, inner: int, context: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, inner) for _ in range(layers))
        self.last = nn.RMSNorm(width)

    def head(self, x: Tensor) -> Tensor:
        return F.linear(self.last(x), self.tokens.weight)

    def forward(self, ids: Tensor, start: int) -> Tensor:
        """Logits of the positions from `start` on."""
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            q, k, v = block.project(x)
            x = block.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.head(x[:, start:])


class Bound:
    """One step of fixed shape: `prompts` x `group` completions of `new` tokens behind prompts of `prompt` tokens."""

    def __init__(
        self, *, layers: int, width: int, heads: int, inner: int, vocabulary: int, prompt: int, new: int,
        prompts: int = 32, group: int = 8, rows: int = 256, seed: int = 0,
    ) -> None:  # fmt: skip
        """`rows` is how many rows the update computes at once."""
        torch.manual_seed(seed)
        self.prompt, self.new, self.group, self.rows = prompt, new, group, rows
        self.batch = prompts * group
        self.network = Network(
            vocabulary=vocabulary, width=width, layers=layers, heads=heads, inner=inner, context=prompt + new
        )
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-4, foreach=True)
        self.ids = torch.randint(4, vocabulary, (prompts, prompt))
        shape = (self.batch, heads, prompt + new, width // heads)
        self.cache = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(layers)]

    def step(self) -> None:
        """Sample, score, update."""
        sequences = self.sample()
        reward = ((sequences[:, self.prompt :] % 10) == 0).float().mean(1)
        grouped = reward.view(-1, self.group)
        advantages = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-6)
        self.update(sequences, advantages.reshape(-1, 1))

    @torch.inference_mode()
    def sample(self) -> Tensor:
        """Prompts are read once and expanded to their groups; then a token at a time."""
        network, group = self.network, self.group
        x = network.tokens(self.ids) + network.places.weight[: self.prompt]
        for block, (keys, values) in zip(network.blocks, self.cache, strict=True):
            q, k, v = block.project(x)
            keys[:, :, : self.prompt] = k.repeat_interleave(group, 0)
            values[:, :, : self.prompt] = v.repeat_interleave(group, 0)
            x = block.finish(x, F.scaled_dot_product_attention(q, k, v, is_causal=True))
        token, logp = self.pick(network.head(x[:, -1]).repeat_interleave(group, 0))
        tokens, logps = [token], [logp]
        for t in range(self.prompt, self.prompt + self.new - 1):
            x = (network.tokens(token) + network.places.weight[t])[:, None]
            for block, (keys, values) in zip(network.blocks, self.cache, strict=True):
                q, k, v = block.project(x)
                keys[:, :, t : t + 1], values[:, :, t : t + 1] = k, v
                x = block.finish(x, F.scaled_dot_product_attention(q, keys[:, :, : t + 1], values[:, :, : t + 1]))
            token, logp = self.pick(network.head(x)[:, 0])
            tokens.append(token)
            logps.append(logp)
        torch.stack(logps, 1)
        return torch.cat([self.ids.repeat_interleave(group, 0), torch.stack(tokens, 1)], 1)

    @staticmethod
    def pick(logits: Tensor) -> tuple[Tensor, Tensor]:
        """A token by the Gumbel trick, with its log-probability."""
        logp = torch.log_softmax(logits, -1)
        token = (logp - torch.empty_like(logp).exponential_().log_()).argmax(-1)
        return token, logp.gather(1, token[:, None])[:, 0]

    def update(self, sequences: Tensor, advantages: Tensor) -> None:
        """Gradient of the token mean and one AdamW step, `rows` rows at once."""
        sequences = sequences.clone()
        for ids, advantage in zip(sequences.split(self.rows), advantages.split(self.rows), strict=True):
            logits = self.network(ids[:, :-1], self.prompt - 1)
            targets = ids[:, self.prompt :]
            logp = torch.log_softmax(logits, -1).gather(2, targets[..., None])[..., 0]
            loss = -(torch.exp(logp - logp.detach()) * advantage).sum() / (self.batch * self.new)
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def main() -> None:
    """Median CPU seconds of a step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"layers": 4, "width": 128, "heads": 4, "inner": 512, "vocabulary": 79}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in {"prompt": 7, "new": 16, "rows": 256, "repeats": 7}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    repeats = options.pop("repeats")
    torch.set_num_threads(1)
    bound = Bound(**options)
    bound.step()
    took = []
    for _ in range(repeats):
        began = time.process_time()
        bound.step()
        took.append(time.process_time() - began)
    print(json.dumps({**options, "cpu_seconds": round(statistics.median(took), 4)}))


if __name__ == "__main__":
    main()
