//! Hermes: gated by a plugin of ours, which speaks our own words.

use super::{Agent, plugin};

pub const AGENT: Agent =
    Agent { name: "hermes", title: "Hermes", read: plugin::read, reply: plugin::reply };
