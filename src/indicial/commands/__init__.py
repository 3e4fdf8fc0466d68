"""The commands of `indicial`: arguments only, each a few calls into the package."""
