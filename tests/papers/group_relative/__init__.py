"""Worked examples of the estimators that compare one reward with those of its group."""
