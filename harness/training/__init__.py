"""The loop of one trial: rounds, hooks, updates, checkpoints."""

TRAINING_SEMANTICS = 2  # raised by hand whenever the numbers of an unchanged suite change
