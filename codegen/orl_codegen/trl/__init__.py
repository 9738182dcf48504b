"""What TRL's trainers take: datasets, factories and reward functions."""
