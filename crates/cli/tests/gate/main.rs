//! The commands that talk to the daemon, used like people and scripts do.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod channel;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod house;
#[cfg(test)]
mod paper;
#[cfg(test)]
mod people;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
#[path = "../../../channels/tests/telegram/stand_in.rs"]
#[expect(dead_code, reason = "each program of tests uses its part")]
mod telegram;
