"""What an installation, a machine and a suite lack, found before anything runs for hours."""
