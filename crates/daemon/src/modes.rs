//! The modes: their names in the configuration, and which of two is stricter.

use countersign_risk::verdict::Mode;

/// The name of a mode in the configuration.
pub const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Observe => "observe",
        Mode::CrisisOnly => "crisis_only",
        Mode::Enforce => "enforce",
    }
}

/// The mode with this name.
pub fn mode_from_name(name: &str) -> Option<Mode> {
    [Mode::Observe, Mode::CrisisOnly, Mode::Enforce]
        .into_iter()
        .find(|mode| mode_name(*mode) == name)
}

/// How much a mode blocks; more is stricter.
pub const fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Observe => 0,
        Mode::CrisisOnly => 1,
        Mode::Enforce => 2,
    }
}

/// The stricter of two modes.
pub const fn stricter(one: Mode, other: Mode) -> Mode {
    if strictness(other) > strictness(one) { other } else { one }
}
