"""Adapters in loops of your own: the tools for any model server, and rollouts with calls by name."""
