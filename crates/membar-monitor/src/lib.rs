//! Monitors that find violations of sequential consistency under TSO and PSO on sequentially consistent executions.
