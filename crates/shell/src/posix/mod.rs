//! POSIX shell with the extensions of bash, zsh and ksh.

pub mod ast;
mod compound;
mod dollar;
mod escape;
mod heredoc;
mod outline;
mod parser;
mod redirect;
mod word;

pub use escape::decode as decode_escapes;
pub use outline::commands;
pub use parser::{MAX_DEPTH, Parsed, PosixProblem, check, parse};
pub use word::unquoted;
