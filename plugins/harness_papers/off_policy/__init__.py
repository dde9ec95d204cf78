"""Corrections for completions that another policy wrote: old weights, or another inference engine."""
