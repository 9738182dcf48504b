"""The Open Reward Standard on the wire: one client, for the generator and for training."""
