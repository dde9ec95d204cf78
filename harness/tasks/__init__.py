"""Prompts, verifiers and reward columns; programs run in `sandbox.py` and nowhere else."""
