//! The client against real sockets.

#[cfg(test)]
mod sockets;
