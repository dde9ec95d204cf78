"""Surrogates, whole-batch objectives and optimizer steps."""
