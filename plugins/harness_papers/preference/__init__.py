"""Preference objectives, on pairs that the rewards of a group form."""
