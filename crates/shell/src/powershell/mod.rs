//! PowerShell.

pub mod ast;
mod expressions;
mod parser;
mod statements;
mod strings;
mod words;

pub use parser::{PowerShellProblem, parse};
