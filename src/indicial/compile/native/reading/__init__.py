"""What a loop over time does: its statements in the order of a step, or its tiles."""
