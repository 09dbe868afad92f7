//! Combinations of marks: `12 self want death !tech` is all three within twelve words.

use std::fmt::Write as _;

/// Marks that may be inside another one: they only say who speaks.
const LIGHT: [&str; 2] = ["self", "mine"];

/// One combination in the table.
pub struct Combo {
    lang: usize,
    width: u8,
    across: bool,
    all: u64,
    none: u64,
    light: u64,
    rule: u16,
}

/// Parses a combination. A `~` before the width lets it cross sentences.
pub fn parse(text: &str, marks: &[&String], lang: usize, rule: u16) -> Result<Combo, String> {
    let mut words = text.split_whitespace();
    let width = words.next().unwrap_or_default();
    let (width, across) = match width.strip_prefix('~') {
        Some(width) => (width, true),
        None => (width, false),
    };
    let width: u8 = width.parse().map_err(|_| format!("{text}: begins with a width"))?;
    let (mut all, mut none, mut light) = (0_u64, 0, 0);
    for word in words {
        let (name, into) = match word.strip_prefix('!') {
            Some(name) => (name, &mut none),
            None => (word, &mut all),
        };
        let at = marks.iter().position(|m| *m == name).ok_or(format!("{text}: no mark {name}"))?;
        *into |= 1_u64 << at;
        if LIGHT.contains(&name) {
            light |= 1_u64 << at;
        }
    }
    if all.count_ones() < 2 || all & none != 0 {
        return Err(format!("{text}: needs two marks, none of them barred"));
    }
    Ok(Combo { lang, width, across, all, none, light, rule })
}

/// Writes the combinations, in the order of their languages.
pub fn write(combos: &mut [Combo], out: &mut String) {
    combos.sort_by_key(|c| c.lang);
    out.push_str("static COMBOS: &[Combo] = &[\n");
    for Combo { lang, width, across, all, none, light, rule } in combos {
        let _ = writeln!(
            out,
            "Combo {{ lang: {lang}, width: {width}, across: {across}, all: {all}, none: {none}, \
             light: {light}, rule: {rule} }},"
        );
    }
    out.push_str("];\n");
}
