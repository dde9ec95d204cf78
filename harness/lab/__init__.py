"""The gradient lab: methods on prompts whose few completions can be enumerated, so that the true gradient is known."""
