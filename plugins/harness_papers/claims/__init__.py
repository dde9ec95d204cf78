"""What the papers claim, shown in small; a module a family."""
