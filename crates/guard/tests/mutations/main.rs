//! Replies with random damage: safe is only what is exactly a safe reply.

#[cfg(test)]
mod damaged_replies;
