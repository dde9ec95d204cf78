"""What every suite is checked against: methods that must change nothing, or learn nothing."""
