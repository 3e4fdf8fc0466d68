"""The text of a kernel: from the stages of a loop to C."""
