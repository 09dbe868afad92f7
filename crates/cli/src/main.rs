//! The binary `countersign`: parse, call, print, exit.

fn main() {}
