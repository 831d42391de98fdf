//! Decides traces: the conflict and the read problem.
