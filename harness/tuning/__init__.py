"""The track of equal tuning: every method of a suite gets the same number of search trials from its own space.

`settings` is the suite's `tuning:` section, `space` what a row may search, `design` where the points lie, `search` the
trials of a row, `record` what they found: `tuning.json` beside the row's trials. See docs/tuning.md.
"""

from __future__ import annotations
