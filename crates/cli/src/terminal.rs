//! Colour and width: only on a terminal, never against `NO_COLOR`.

use std::env;
use std::fmt;
use std::io::IsTerminal;

use crate::engine::Tier;

/// Whether the output may contain escape sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// A terminal with colour.
    Colour,
    /// A pipe, a file, `NO_COLOR` or a dumb terminal.
    Plain,
}

impl Paint {
    /// The style that fits an output.
    pub fn of(output: &impl IsTerminal) -> Paint {
        let refused = |name| env::var_os(name).is_some_and(|v: std::ffi::OsString| !v.is_empty());
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        if output.is_terminal() && !refused("NO_COLOR") && !dumb {
            Paint::Colour
        } else {
            Paint::Plain
        }
    }

    /// Text in a style.
    pub fn with<T: fmt::Display>(self, style: &'static str, text: T) -> Painted<T> {
        Painted { style: if self == Paint::Colour { style } else { "" }, text }
    }

    /// A word on a coloured background; only the word without colour.
    pub fn badge(self, style: &'static str, word: &str) -> String {
        match self {
            Paint::Colour => self.with(style, format!(" {word} ")).to_string(),
            Paint::Plain => word.to_owned(),
        }
    }

    /// Headings.
    pub fn strong<T: fmt::Display>(self, text: T) -> Painted<T> {
        self.with("1", text)
    }

    /// Less important text.
    pub fn faint<T: fmt::Display>(self, text: T) -> Painted<T> {
        self.with("2", text)
    }
}

/// Text with its style.
pub struct Painted<T> {
    style: &'static str,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.style.is_empty() {
            return self.text.fmt(f);
        }
        write!(f, "\x1b[{}m", self.style)?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

/// The tier's accent: grey, blue, amber, orange-red, magenta-red.
pub fn accent(tier: Tier) -> &'static str {
    match tier {
        Tier::Safe => "38;5;245",
        Tier::Low => "38;5;33",
        Tier::Medium => "38;5;172",
        Tier::High => "38;5;202",
        Tier::Critical => "1;38;5;197",
    }
}

/// The badge of the tier: its accent as background, readable on dark and light.
pub fn badge(tier: Tier) -> &'static str {
    match tier {
        Tier::Safe => "1;38;5;16;48;5;250",
        Tier::Low => "1;38;5;231;48;5;26",
        Tier::Medium => "1;38;5;16;48;5;214",
        Tier::High => "1;38;5;16;48;5;209",
        Tier::Critical => "1;38;5;231;48;5;161",
    }
}

/// Underlined in the tier's colour.
pub fn underline(tier: Tier) -> &'static str {
    match tier {
        Tier::Safe => "4;38;5;245",
        Tier::Low => "4;38;5;33",
        Tier::Medium => "4;38;5;172",
        Tier::High => "4;38;5;202",
        Tier::Critical => "1;4;38;5;197",
    }
}

/// Crisis: violet, never red.
pub const CRISIS: &str = "1;38;5;141";

/// A bar of `width` cells for `value` of `whole`, in eighths of a cell.
pub fn weight_bar(value: u16, whole: u16, width: u16) -> String {
    const EIGHTHS: [&str; 8] =
        ["", "\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
    let eighths = u32::from(value.min(whole)) * u32::from(width) * 8 / u32::from(whole.max(1));
    // The smallest weight is still visible.
    let eighths = if value > 0 { eighths.max(1) } else { 0 };
    let full = usize::try_from(eighths / 8).unwrap_or(0);
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    let mut bar = "\u{2588}".repeat(full);
    bar.push_str(EIGHTHS.get(part).unwrap_or(&""));
    let used = full + usize::from(part > 0);
    bar.push_str(&" ".repeat(usize::from(width).saturating_sub(used)));
    bar
}

/// The approximate width of a text in columns: wide for emoji and East Asian text.
pub fn columns(text: &str) -> usize {
    const WIDE: [(u32, u32); 8] = [
        (0x1100, 0x115f),
        (0x2e80, 0xa4cf),
        (0xac00, 0xd7a3),
        (0xf900, 0xfaff),
        (0xfe30, 0xfe6f),
        (0xff00, 0xff60),
        (0x1f300, 0x1faff),
        (0x20000, 0x3fffd),
    ];
    let wide = |c: char| WIDE.iter().any(|&(from, to)| (from..=to).contains(&u32::from(c)));
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_numbers() {
        assert_eq!(weight_bar(400, 400, 8), "████████");
        assert_eq!(weight_bar(0, 400, 4), "    ");
        assert_eq!(weight_bar(300, 400, 2), "█▌");
        assert_eq!(columns("a字"), 3);
    }

    #[test]
    fn plain_means_no_escape() {
        assert_eq!(Paint::Plain.strong("x").to_string(), "x");
        assert_eq!(Paint::Colour.strong("x").to_string(), "\x1b[1mx\x1b[0m");
    }
}
