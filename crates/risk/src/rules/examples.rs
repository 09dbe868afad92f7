//! The examples of the shipped rules, apart from the rules: only `rules explain`, `rules check` and
//! tests refer to them, so that the linker drops them from every other program.

/// What a rule must match and what it must not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Examples {
    pub(crate) matching: &'static [&'static str],
    pub(crate) counter_examples: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/examples.rs"));
