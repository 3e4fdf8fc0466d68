"""The page of `indicial lab`: what it asks, who computes the answers, and the server in between."""
