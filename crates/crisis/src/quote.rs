//! Finds the quoted parts and code of a text: they are mentioned, not meant.

/// A quoted or code part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First byte inside.
    pub start: usize,
    /// One past the last byte inside.
    pub end: usize,
    /// Code rather than a quotation.
    pub code: bool,
}

/// The quoted and code regions of a text, in order, not nested. A text that is one quotation as a
/// whole counts as the writer's own words and has no regions.
pub fn regions(text: &str) -> Vec<Region> {
    let mut out: Vec<Region> = Vec::new();
    let mut open: Option<(usize, &str, bool)> = None;
    let mut before = ' ';
    let mut skip = 0;
    for (at, c) in text.char_indices() {
        let mark = c == '`' || c == '"' || c == '\'' || MARKS.contains(&c);
        if at < skip || !mark {
            before = c;
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        match open {
            Some((start, closing, code)) => {
                let after = rest.get(closing.len()..).and_then(|r| r.chars().next());
                let ends = rest.starts_with(closing)
                    && (closing != "'" || !after.is_some_and(char::is_alphanumeric));
                if ends {
                    out.push(Region { start, end: at, code });
                    skip = at + closing.len();
                    open = None;
                }
            }
            None => {
                if let Some((opening, closing, code)) = opens(rest, before) {
                    skip = at + opening;
                    open = Some((skip, closing, code));
                }
            }
        }
        before = c;
    }
    out.retain(|r| !alone(text, r));
    out
}

/// The quotation marks beyond ASCII.
const MARKS: [char; 13] = ['“', '”', '„', '‘', '’', '«', '»', '「', '」', '『', '』', '《', '》'];

fn opens(rest: &str, before: char) -> Option<(usize, &'static str, bool)> {
    let free = !before.is_alphanumeric();
    let pairs: [(&str, &str, bool, bool); 12] = [
        ("```", "```", true, true),
        ("`", "`", true, true),
        ("\"", "\"", false, true),
        ("“", "”", false, true),
        ("„", "“", false, true),
        ("«", "»", false, true),
        ("»", "«", false, true),
        ("「", "」", false, true),
        ("『", "』", false, true),
        ("《", "》", false, true),
        ("‘", "’", false, free),
        ("'", "'", false, free),
    ];
    let (open, close, code, _) =
        *pairs.iter().find(|(open, _, _, fits)| *fits && rest.starts_with(open))?;
    Some((open.len(), close, code))
}

/// Whether nothing worth reading is outside the region.
fn alone(text: &str, region: &Region) -> bool {
    let outside = [text.get(..region.start), text.get(region.end..)];
    !outside.iter().flatten().any(|part| part.chars().any(char::is_alphanumeric))
}
