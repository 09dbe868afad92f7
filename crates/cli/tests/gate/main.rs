//! The commands that talk to the daemon, used like people and scripts do.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod channel;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod fake_daemon;
#[cfg(test)]
mod first_passphrase;
#[cfg(test)]
mod freeze;
#[cfg(test)]
mod installation;
#[cfg(test)]
mod learning;
#[cfg(test)]
mod levels;
#[cfg(test)]
mod login;
#[cfg(test)]
mod people;
#[cfg(test)]
mod service;
#[cfg(test)]
#[path = "../../../channels/tests/telegram/fake_telegram.rs"]
#[expect(dead_code, reason = "each program of tests uses its part")]
mod telegram;
