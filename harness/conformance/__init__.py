"""What every plugin must pass: checks on the CPU in seconds, for the command line and for an author's own tests."""

__all__ = ["EXEMPTIBLE"]

# Checks that a method may honestly not hold: `@method(exempt={check: reason})`, shown in the report.
EXEMPTIBLE = ("permutation", "loops", "precision", "gradient")
