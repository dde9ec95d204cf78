"""Several reward columns, combined after normalisation."""
