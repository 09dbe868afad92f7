//! The gate over a real store: what passes, what asks, what is held.
