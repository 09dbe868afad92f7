//! Lists of names from `rules/structure.toml`.

include!(concat!(env!("OUT_DIR"), "/name_lists.rs"));
