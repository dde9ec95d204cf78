"""Which prompts, how many completions, and how they are made."""
