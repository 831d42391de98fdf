//! Slow and obvious deciders, to compare the fast ones with.
