"""The lab under measurement: how quickly it answers, how it stands many pages, what it looks like."""
