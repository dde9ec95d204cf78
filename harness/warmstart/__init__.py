"""How the embedded policy is made: behaviours to imitate, the warm-up, and the measurement that says when to stop."""
