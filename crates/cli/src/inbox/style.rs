//! Colours and shapes, the same as in lists and on the web.

use ratatui::style::{Color, Modifier, Style};

use crate::engine::Tier;
use crate::terminal;

/// Whether there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Words, shapes, bold and underline carry all information; colour only repeats it.
    pub colour: bool,
}

impl Palette {
    /// A style from its SGR numbers, which the other commands print directly.
    pub fn of(self, sgr: &str) -> Style {
        let mut style = Style::new();
        let mut numbers = sgr.split(';').filter_map(|number| number.parse::<u8>().ok());
        while let Some(number) = numbers.next() {
            match number {
                1 => style = style.add_modifier(Modifier::BOLD),
                2 => style = style.add_modifier(Modifier::DIM),
                4 => style = style.add_modifier(Modifier::UNDERLINED),
                38 | 48 => {
                    let colour = numbers.nth(1).filter(|_| self.colour).map(Color::Indexed);
                    if number == 38 {
                        style.fg = colour;
                    } else {
                        style.bg = colour;
                    }
                }
                _ => {}
            }
        }
        style
    }

    /// The tier's colour; violet in a crisis.
    pub fn accent(self, tier: Option<Tier>, crisis: bool) -> Style {
        match tier {
            _ if crisis => self.of(terminal::CRISIS),
            Some(tier) => self.of(terminal::accent(tier)),
            None => self.of(terminal::accent(Tier::Critical)),
        }
    }

    /// The tier on a coloured background; reversed without colour.
    pub fn badge(self, tier: Option<Tier>) -> Style {
        let style = self.of(terminal::badge(tier.unwrap_or(Tier::Critical)));
        if self.colour { style } else { style.add_modifier(Modifier::REVERSED) }
    }

    /// The dangerous part.
    pub fn danger(self, tier: Option<Tier>) -> Style {
        self.of(terminal::underline(tier.unwrap_or(Tier::Critical)))
    }

    /// Less important text.
    pub fn faint(self) -> Style {
        self.of(if self.colour { "38;5;245" } else { "2" })
    }

    /// Headings.
    pub fn strong(self) -> Style {
        self.of("1")
    }

    /// Errors.
    pub fn wrong(self) -> Style {
        self.of("1;38;5;202")
    }

    /// The selected row: reversed, so that it is readable on dark and light.
    pub fn chosen() -> Style {
        Style::reset().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// The name of a key.
    pub fn key(self) -> Style {
        self.of("1")
    }
}

/// A shape for each tier, for people who do not see colours.
pub fn shape(tier: Option<Tier>) -> &'static str {
    match tier {
        Some(Tier::Safe) => "✓",
        Some(Tier::Low) => "○",
        Some(Tier::Medium) => "◆",
        Some(Tier::High) => "▲",
        Some(Tier::Critical) => "⬢",
        None => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_is_coloured_and_the_danger_is_still_underlined() {
        let plain = Palette { colour: false };
        for tier in Tier::ALL {
            let all = [plain.accent(Some(tier), false), plain.badge(Some(tier))];
            assert!(all.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
            assert!(plain.danger(Some(tier)).add_modifier.contains(Modifier::UNDERLINED));
        }
        let colour = Palette { colour: true };
        assert_eq!(colour.accent(Some(Tier::High), false).fg, Some(Color::Indexed(202)));
        assert_eq!(colour.badge(Some(Tier::High)).bg, Some(Color::Indexed(209)));
    }
}
