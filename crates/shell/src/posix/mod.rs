//! POSIX shell with the extensions of bash, zsh and ksh.

mod assignment;
pub mod ast;
mod backquote;
mod compound;
mod dollar;
mod escape;
mod heredoc;
mod keywords;
mod list;
mod outline;
mod parser;
mod pattern;
mod plain_bytes;
mod redirect;
mod word;

pub use escape::decode as decode_escapes;
pub use outline::commands;
pub use parser::{MAX_DEPTH, ParsedScript, PosixProblem, check, parse};
pub use word::unquoted;
