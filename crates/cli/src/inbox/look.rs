//! Colours and shapes on the screen: the same as in lists and on the web.

use ratatui::style::{Color, Modifier, Style};

use crate::core_api::Tier;
use crate::terminal;

/// Whether there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Words, shapes, bold and underline say everything; colour only says it again.
    pub colour: bool,
}

impl Look {
    /// A style from its SGR numbers, which the other commands print as they are.
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

    /// The tier as a word on coloured ground; reversed where there is no colour.
    pub fn badge(self, tier: Option<Tier>) -> Style {
        let style = self.of(terminal::badge(tier.unwrap_or(Tier::Critical)));
        if self.colour { style } else { style.add_modifier(Modifier::REVERSED) }
    }

    /// The dangerous part.
    pub fn danger(self, tier: Option<Tier>) -> Style {
        self.of(terminal::underline(tier.unwrap_or(Tier::Critical)))
    }

    /// What may be passed over.
    pub fn faint(self) -> Style {
        self.of(if self.colour { "38;5;245" } else { "2" })
    }

    /// Headings.
    pub fn strong(self) -> Style {
        self.of("1")
    }

    /// What went wrong.
    pub fn wrong(self) -> Style {
        self.of("1;38;5;202")
    }

    /// The row that is looked at: reversed, so that it reads on dark and on light.
    pub fn chosen() -> Style {
        Style::reset().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// A key's name.
    pub fn key(self) -> Style {
        self.of("1")
    }
}

/// A shape for each tier, so that nobody has to see colours.
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
        let plain = Look { colour: false };
        for tier in Tier::ALL {
            let all = [plain.accent(Some(tier), false), plain.badge(Some(tier))];
            assert!(all.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
            assert!(plain.danger(Some(tier)).add_modifier.contains(Modifier::UNDERLINED));
        }
        let colour = Look { colour: true };
        assert_eq!(colour.accent(Some(Tier::High), false).fg, Some(Color::Indexed(202)));
        assert_eq!(colour.badge(Some(Tier::High)).bg, Some(Color::Indexed(209)));
    }
}
