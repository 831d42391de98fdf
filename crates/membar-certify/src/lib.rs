//! Re-checks witnesses and proofs, sharing no algorithm with the checker.
