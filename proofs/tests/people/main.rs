//! Channels and devices: a real daemon, real messages and replies, and forged ones.

#[cfg(test)]
mod callback;
#[cfg(test)]
mod discord;
#[cfg(test)]
mod discord_and_slack;
#[cfg(test)]
mod discord_markdown;
#[cfg(test)]
mod discord_verifier;
#[cfg(test)]
mod drill;
#[cfg(test)]
mod email;
#[cfg(test)]
mod fake_platform;
#[cfg(test)]
mod fake_server;
#[cfg(test)]
#[path = "../gate/fixture.rs"]
#[expect(dead_code, reason = "each program of proofs uses its part")]
mod fixture;
#[cfg(test)]
mod ntfy;
#[cfg(test)]
mod passkey;
#[cfg(test)]
mod push;
#[cfg(test)]
mod slack;
#[cfg(test)]
mod sms;
#[cfg(test)]
mod telegram;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod worker;
