"""The vectorised group algebra: statistics over the rows that share a key, for groups of unequal size.

Every statistic takes x [M] or [M, K] (columns are independent; further axes are allowed) and gives each member its
group's value, in x's shape; `expand=False` gives one row per group instead. `where` (bool [M], or x's shape) says who
counts; NaN never counts. Members that do not count still receive a value. Integer and bool input is read as float.
All of it is O(M) or O(M log M) torch operations without a Python loop, and differentiable where the statistic is.

Conventions for the edges, chosen so that nothing here ever turns a batch into NaN:

- std is the sample one (n - 1); a group of one has std 0, and whatever has std 0 standardizes to 0;
- a group of equal values centres to exactly 0, in any precision (sums are taken around the group's minimum);
- the median is the lower middle; rank is 0-based, ordinal, stable; quantile interpolates linearly;
- where nobody counts, mean, std, sum, min, max, median and quantile are 0, logsumexp is -inf, `any` is False and `all`
  True; the leave-one-out mean of the only one that counts is its own value, so that the difference is 0;
- NaN members centre and standardize to 0 and have rank -1.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from harness.group_keys import numbered
from harness.group_order import picked, ranks

__all__ = ["Groups", "standardize"]

FEW = 16  # columns for which the places of entries are remembered: rewards, not tokens


class Groups:
    """The groups of M rows: rows with equal keys ([M], or [M, C] compared as tuples) are one group."""

    def __init__(self, keys: Tensor) -> None:
        if keys.dim() not in {1, 2}:
            msg = f"group keys have shape {tuple(keys.shape)}; expected [M] or [M, C]"
            raise ValueError(msg)
        self.keys = keys
        self._known_cells: dict[int, Tensor] = {}

    @cached_property
    def index(self) -> Tensor:
        """[M] which group a row is in, 0 to `number` - 1 in ascending order of the keys."""
        return numbered(self.keys)

    @cached_property
    def number(self) -> int:
        """How many groups there are."""
        return int(self.index.max()) + 1 if len(self) else 0

    @cached_property
    def first(self) -> Tensor:
        """[number] the first row of every group: `keys[groups.first]` has each key once."""
        rows = torch.arange(len(self), device=self.keys.device)
        return rows.new_full((self.number,), len(self)).scatter_reduce(0, self.index, rows, "amin")

    def __len__(self) -> int:
        """M, the number of members of all groups."""
        return self.keys.shape[0]

    # -- sums and moments ----------------------------------------------------------------------------------------

    def count(self, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """How many members count (int64): [M] or where's shape."""
        return self._back(self._sizes if where is None else self._add(where.long()), expand)

    def sum(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The sum of the members that count."""
        x, counts = self._prepare(x, where)
        return self._back(self._add(_blank(x, counts)), expand)

    def mean(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The mean of the members that count."""
        x, counts = self._prepare(x, where)
        return self._back(self._moments(x, counts)[0], expand)

    def std(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True, correction: int = 1) -> Tensor:
        """The standard deviation of the members that count, over n - correction; 0 where n <= correction."""
        x, counts = self._prepare(x, where)
        mean, number = self._moments(x, counts)
        return self._back(self._deviation(x - self._spread(mean), counts, number, correction), expand)

    def center(self, x: Tensor, where: Tensor | None = None) -> Tensor:
        """X minus the group's mean."""
        x, counts = self._prepare(x, where)
        mean, number = self._moments(x, counts)
        return _blank(x - self._spread(mean), ~x.isnan() & self._spread(number > 0))

    def standardize(self, x: Tensor, where: Tensor | None = None, eps: float = 1e-6, *, correction: int = 1) -> Tensor:
        """(x - mean) / (std + eps) within the group; 0 where the std is 0."""
        x, counts = self._prepare(x, where)
        mean, number = self._moments(x, counts)
        apart = x - self._spread(mean)
        std = self._deviation(apart, counts, number, correction)
        # An infinite scale makes 0 of a group without spread; only NaN is left to blank.
        scale = torch.where(std > 0, std + eps, torch.inf)
        scaled = apart / self._spread(scale)
        return _blank(scaled, ~scaled.isnan())

    def leave_one_out_mean(self, x: Tensor, where: Tensor | None = None) -> Tensor:
        """The mean of the other members that count; its own value where there is no other (0 if that is NaN)."""
        x, counts = self._prepare(x, where)
        number = self._add(counts.to(x.dtype))
        shift = self._spread(self._shift(x, counts, number))
        apart = _blank(x - shift, counts)
        others = self._spread(number) - counts.to(x.dtype)
        mean = shift + (self._spread(self._add(apart)) - apart) / others.clamp_min(1)
        return torch.where(others > 0, mean, _blank(x, ~x.isnan()))

    def logsumexp(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """Log of the sum of exp(x) over the members that count."""
        x, counts = self._prepare(x, where)
        top = self._extreme(x.detach(), counts, "amax")
        top = _blank(top, top.isfinite())
        total = self._add(_blank((x - self._spread(top)).exp(), counts))
        return self._back(total.log() + top, expand)

    # -- order statistics ----------------------------------------------------------------------------------------

    def min(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The smallest member that counts."""
        x, counts = self._prepare(x, where)
        found = self._extreme(x, counts, "amin")
        return self._back(_blank(found, self._add(counts.long()) > 0), expand)

    def max(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The largest member that counts."""
        x, counts = self._prepare(x, where)
        found = self._extreme(x, counts, "amax")
        return self._back(_blank(found, self._add(counts.long()) > 0), expand)

    def rank(self, x: Tensor, where: Tensor | None = None) -> Tensor:
        """int64: the member's place in its group, 0 for the smallest, ties in row order; -1 for who does not count."""
        x, counts = self._prepare(x, where)
        found = ranks(x.detach(), counts, self.index, self._sizes)
        return torch.where(counts, found, torch.full_like(found, -1))

    def median(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The lower middle of the members that count: always one of them."""
        x, counts = self._prepare(x, where)
        number = self._add(counts.long())
        (middle,) = self._pick(x, counts, [(number - 1).clamp_min(0) // 2])
        return self._back(middle, expand)

    def quantile(self, x: Tensor, q: float, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """The q-quantile (0 to 1) of the members that count, linear between neighbours."""
        if not 0 <= q <= 1:
            msg = f"quantile {q} is outside 0 to 1"
            raise ValueError(msg)
        x, counts = self._prepare(x, where)
        place = q * (self._add(counts.long()) - 1).clamp_min(0).to(torch.float64)
        low, high = self._pick(x, counts, [place.floor().long(), place.ceil().long()])
        return self._back(low + (high - low) * (place - place.floor()).to(x.dtype), expand)

    # -- truth ---------------------------------------------------------------------------------------------------

    def any(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """bool: some member that counts is nonzero."""
        x, counts = self._prepare(x, where)
        return self._back(self._add((counts & (x != 0)).long()) > 0, expand)

    def all(self, x: Tensor, where: Tensor | None = None, *, expand: bool = True) -> Tensor:
        """bool: every member that counts is nonzero."""
        x, counts = self._prepare(x, where)
        return self._back(self._add((counts & (x == 0)).long()) == 0, expand)

    # -- inside --------------------------------------------------------------------------------------------------

    def _prepare(self, x: Tensor, where: Tensor | None) -> tuple[Tensor, Tensor]:
        """X as float and the bool tensor of x's shape that says who counts."""
        if x.shape[:1] != self.keys.shape[:1]:
            msg = f"x has shape {tuple(x.shape)}; these groups have {len(self)} members"
            raise ValueError(msg)
        x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
        counts = ~x.isnan()
        if where is not None:
            counts = counts & _rows(where.bool(), x)
        return x, counts

    @cached_property
    def _sizes(self) -> Tensor:
        """[number] how many members a group has."""
        return torch.bincount(self.index, minlength=self.number)

    def _add(self, x: Tensor) -> Tensor:
        if self.number == 1:  # here and below: all rows together need no index
            return x.sum(0, keepdim=True)
        columns = _columns(x)
        if columns == 1:
            return x.new_zeros(self.number, *x.shape[1:]).index_add(0, self.index, x)
        found = x.new_zeros(self.number * columns).scatter_add(0, self._cells(columns), x.reshape(-1))
        return found.reshape(self.number, *x.shape[1:])

    def _cells(self, columns: int) -> Tensor:
        """[M columns] where the entries of x [M, columns] go in one long axis: columns scatter faster so."""
        if columns in self._known_cells:
            return self._known_cells[columns]
        cells = (self.index[:, None] * columns + torch.arange(columns, device=self.keys.device)).reshape(-1)
        if columns <= FEW:
            self._known_cells[columns] = cells
        return cells

    def _spread(self, per_group: Tensor) -> Tensor:
        """Every member's row of per_group; several times faster than by brackets."""
        if self.number == 1:
            return per_group.expand(len(self), *per_group.shape[1:])
        return per_group.index_select(0, self.index)

    def _back(self, per_group: Tensor, expand: bool) -> Tensor:
        return self._spread(per_group) if expand else per_group

    def _extreme(self, x: Tensor, counts: Tensor, how: str) -> Tensor:
        """Per group; where nobody counts it is the neutral element, inf or -inf."""
        neutral = torch.inf if how == "amin" else -torch.inf
        known = torch.where(counts, x, neutral)
        if self.number == 1:
            return known.amin(0, keepdim=True) if how == "amin" else known.amax(0, keepdim=True)
        columns = _columns(x)
        index = self.index if columns == 1 else self._cells(columns)
        found = x.new_full((self.number * columns,), neutral).scatter_reduce(0, index, known.reshape(-1), how)
        return found.reshape(self.number, *x.shape[1:])

    def _shift(self, x: Tensor, counts: Tensor, number: Tensor) -> Tensor:
        """A constant of each group near its values: sums taken around it are exact where the values are equal."""
        least = self._extreme(x.detach(), counts, "amin")
        return _blank(least, least.isfinite() & (number > 0))

    def _moments(self, x: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and number of those that count, per group."""
        number = self._add(counts.to(x.dtype))
        shift = self._shift(x, counts, number)
        return shift + self._add(_blank(x - self._spread(shift), counts)) / number.clamp_min(1), number

    def _deviation(self, apart: Tensor, counts: Tensor, number: Tensor, correction: int) -> Tensor:
        """Per group, of the members' distances from their group's mean."""
        square = self._add(_blank(apart, counts).square()) / (number - correction).clamp_min(1)
        known = (number > correction) & (square > 0)
        # The root is taken where it has a finite slope, so that a group without spread gets gradient 0, not NaN.
        return _blank(torch.where(known, square, torch.ones_like(square)).sqrt(), known)

    def _pick(self, x: Tensor, counts: Tensor, places: list[Tensor]) -> list[Tensor]:
        """Per group, the members at the given places of its order; 0 where nobody counts."""
        someone = self._add(counts.long()) > 0
        return [_blank(found, someone) for found in picked(x, counts, self.index, self._sizes, places)]


def standardize(x: Tensor, where: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """(x - mean) / (std + eps) over all entries of x that count: [N], or [N, T] with `where` a mask.

    std is the sample one (n - 1). Entries that are NaN, and everything where the std is 0, become 0; entries outside
    `where` are scaled by the statistics of the others.
    """
    flat = x.reshape(-1)
    counts = None if where is None else _rows(where.bool(), x).reshape(-1)
    one = Groups(torch.zeros(flat.shape[0], dtype=torch.long, device=x.device))
    return one.standardize(flat, counts, eps).reshape(x.shape)


def _columns(x: Tensor) -> int:
    return x.shape[1:].numel()


def _rows(x: Tensor, like: Tensor) -> Tensor:
    """X [M] or like's shape, broadcast to like's trailing axes."""
    if x.dim() < like.dim():
        x = x.reshape(*x.shape, *[1] * (like.dim() - x.dim()))
    return x.expand(x.shape[0], *like.shape[1:])


def _blank(x: Tensor, counts: Tensor) -> Tensor:
    """X where it counts, else 0 (a product would keep NaN)."""
    return torch.where(counts, x, torch.zeros((), dtype=x.dtype, device=x.device))
