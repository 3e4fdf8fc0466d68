"""Problem sheets as notebooks: one text in Markdown, its blocks as cells that run."""
