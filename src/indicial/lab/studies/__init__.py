"""What a problem sheet says, trained or measured: `indicial study`."""
