"""Derivations of a document, step by step: which steps hold on drawn values, which do not, and which were not tried."""
