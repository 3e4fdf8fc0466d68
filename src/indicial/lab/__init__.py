"""Experiments: several trainings on equal terms, and what comes of them."""
