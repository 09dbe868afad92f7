//! Plain data types that every crate shares: tiers, ids, points in time, spans of text.

pub mod id;
pub mod span;
pub mod tier;
pub mod time;
