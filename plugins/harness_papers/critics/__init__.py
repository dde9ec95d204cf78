"""Methods with a learned value function."""
