//! The MCP proxy from outside: a real daemon, a real process between two pipes.

#[cfg(test)]
mod batches;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod freeze;
#[cfg(test)]
mod http;
#[cfg(test)]
mod labels;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod once;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod sdks;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod web;
