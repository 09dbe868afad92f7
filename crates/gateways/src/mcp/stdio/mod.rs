//! The proxy between a client on standard input and output and a server that is a child process.

mod child;
mod pipes;
mod routes;
mod server_messages;
mod transport;

pub use child::run_stdio;
