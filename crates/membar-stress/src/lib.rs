//! Random programs and the simulated machines that run them.
