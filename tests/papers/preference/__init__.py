"""Preference objectives, worked by hand."""
