"""The steady-state filter and smoother of many sequences at once."""
