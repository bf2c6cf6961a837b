//! Evaluating one expression.
//!
//! Owns: that an evaluation returns, whatever the value is. Must not: know what the expression is for.
//!
//! The library that evaluates panics on some numbers: on the negation of the smallest integer, on quantities too large to
//! compare. The values come from clients, so this is no fault of the definition, and must not end the caller.

use kube_cel::cel::{Context, ExecutionError, Program, Value as CelValue};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// The expression cannot be evaluated with this value.
    Error(ExecutionError),
    /// The library panicked.
    Panic,
}

/// The result of an expression.
pub(super) fn run(program: &Program, context: &Context<'_>) -> Result<CelValue, Failure> {
    // Everything that an evaluation uses is created for it and dropped with it.
    match catch_unwind(AssertUnwindSafe(|| program.execute(context))) {
        Ok(result) => result.map_err(Failure::Error),
        Err(_) => Err(Failure::Panic),
    }
}
