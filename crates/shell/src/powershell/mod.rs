//! PowerShell.

mod access;
mod arguments;
pub mod ast;
mod expressions;
mod loops;
mod operators;
mod parser;
mod pipeline;
mod statements;
mod strings;
mod words;

pub use parser::{PowerShellProblem, parse};
