"""Problem sheets as exercises: handouts with gaps, and answers that are graded by values."""
