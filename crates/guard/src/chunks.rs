//! Cuts a long text into overlapping parts that fit into the model's context.

/// The longest part in bytes. A token has at least one byte, so a part and the longest prompt fit
/// into a context of `CONTEXT_TOKENS` in every language.
pub const MAX_CHUNK: usize = 6_000;
/// The context that the model is asked to have, in tokens.
pub const CONTEXT_TOKENS: usize = 8_192;
/// How many bytes two parts share, so that a sentence at a cut is read whole once.
const OVERLAP: usize = 600;
/// The most parts of one text.
const MAX_PARTS: usize = 24;

/// The parts of a text; `None` if there are too many. An empty text has one empty part.
pub fn chunks(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        if parts.len() == MAX_PARTS {
            return None;
        }
        if rest.len() <= MAX_CHUNK {
            parts.push(rest);
            return Some(parts);
        }
        let end = cut(rest, MAX_CHUNK);
        parts.push(rest.get(..end)?);
        let next = boundary(rest, end.saturating_sub(OVERLAP));
        // A part always moves on, whatever its signs are.
        rest = rest.get(next.max(1)..)?;
    }
}

/// Where to cut: after the last space in the second half, else between two characters.
fn cut(text: &str, most: usize) -> usize {
    let most = boundary(text, most);
    let part = text.get(..most).unwrap_or_default();
    match part.rfind(char::is_whitespace) {
        Some(space) if space > most / 2 => space,
        _ => most,
    }
}

/// The last boundary between two characters at or before this byte.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_a_part_and_every_part_fits() {
        let words = "one two three ".repeat(3_000);
        for text in [String::new(), "a".repeat(65_536), "é😀".repeat(10_000), words] {
            let parts = chunks(&text).unwrap();
            let mut covered = 0;
            for part in &parts {
                assert!(part.len() <= MAX_CHUNK);
                let start = part.as_ptr() as usize - text.as_ptr() as usize;
                assert!(start <= covered, "a gap before byte {start}");
                covered = covered.max(start + part.len());
            }
            assert_eq!(covered, text.len());
        }
    }

    #[test]
    fn a_sentence_at_a_cut_is_whole_in_one_part() {
        for shift in 0..400 {
            let text = format!("{}I want to die{}", "a".repeat(5_800 + shift), "b".repeat(3_000));
            assert!(chunks(&text).unwrap().iter().any(|part| part.contains("I want to die")));
        }
    }

    #[test]
    fn a_text_that_is_too_long_has_no_parts() {
        assert_eq!(chunks(&"a".repeat(200_000)), None);
    }
}
