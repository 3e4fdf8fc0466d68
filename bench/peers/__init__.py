"""What Indicial is measured against; one file each, written as its users would write it."""
