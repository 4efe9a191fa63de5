"""Learning from moments: subspace identification and EM with ASOS."""
