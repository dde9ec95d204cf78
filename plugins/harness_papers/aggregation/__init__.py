"""How token losses become one number."""
