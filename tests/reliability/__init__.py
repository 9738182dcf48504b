"""`make reliability`: nothing is lost, and nobody is let in. Each module with a `measure` is a suite."""
