//! The Windows command prompt: a lexer only, since `cmd` expands variables before it parses.

mod ast;
mod lexer;
mod variables;

pub use ast::{CmdCommand, CmdVariables, CmdWord, Separator};
pub use lexer::Lexer;
