"""One scalar reward per completion, compared with something: the batch, the group, a greedy answer."""
