"""Statements of prose → what of them is about tensors, and which programs it makes."""
