//! Who submits a call, and what the caller may say about it.

use std::sync::Arc;

/// An authenticated agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub agent: String,
    /// Addresses that people confirmed to be those of the agent's own user.
    pub own_addresses: Arc<[String]>,
    /// Whether the kernel says who it is: it connected through the Unix socket, as hooks do.
    pub is_socket_peer: bool,
}

impl Caller {
    /// An agent that nothing is known of but its name.
    pub fn named(agent: &str) -> Caller {
        Caller { agent: agent.to_owned(), own_addresses: [].into(), is_socket_peer: false }
    }

    /// The agent program that a call names, if this caller may name it. Tools of an agent program
    /// are known by name alone, so a token may only name the program that it is registered as.
    pub fn accepted_host<'h>(&self, claimed: Option<&'h str>) -> Option<&'h str> {
        let letters = |name: &str| {
            name.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase()).collect()
        };
        let is_own = |host: &&str| {
            let (host, own): (Vec<u8>, Vec<u8>) = (letters(host), letters(&self.agent));
            !host.is_empty() && host == own
        };
        claimed.filter(|host| self.is_socket_peer || is_own(host))
    }
}
