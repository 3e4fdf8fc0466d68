"""Mistakes in how names, indices and steps are used."""
