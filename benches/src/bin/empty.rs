//! The floor of every cold start: a program that does nothing.

fn main() {}
