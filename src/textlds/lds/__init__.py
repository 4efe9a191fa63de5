"""The Gaussian linear dynamical system: parameters, noise, steady state."""
