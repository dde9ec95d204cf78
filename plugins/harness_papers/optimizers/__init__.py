"""Other ways from a gradient to new weights."""
