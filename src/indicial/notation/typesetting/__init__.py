"""The tree → text again."""
