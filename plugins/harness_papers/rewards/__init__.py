"""Rewards added or shaped: lengths, formats, histories, judges."""
