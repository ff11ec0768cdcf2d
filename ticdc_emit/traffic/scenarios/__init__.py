"""Scenarios that break consumers: small histories, delivered legally, as in real incidents, and the expected tables."""
