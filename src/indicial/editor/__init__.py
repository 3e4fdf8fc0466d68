"""The language server, and messages in the formats of other tools."""
