"""Models whose matrices a person chose: checked on every case, learned again, and compared."""
