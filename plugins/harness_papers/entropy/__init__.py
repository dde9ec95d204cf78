"""Methods that watch or steer the policy's entropy."""
