"""The same stacks inside TRL and verl: `harness.bridges.trl`, `harness.bridges.verl`. See docs/bridges.md."""
