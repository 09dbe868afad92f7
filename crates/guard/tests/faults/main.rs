//! The connection to a guard model against a server that fails in every way.

#[cfg(test)]
mod server_faults;
