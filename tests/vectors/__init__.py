"""Our methods against the numbers of public implementations: `python -m tests.vectors [FILE.jsonl[.gz]]`."""
