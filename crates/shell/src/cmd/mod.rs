//! The Windows command prompt: a lexer only, since `cmd` expands variables before it parses.

mod lexer;

pub use lexer::{CmdCommand, CmdVariables, CmdWord, Lexer, Separator};
