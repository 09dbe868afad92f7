//! Code in a language that has no reader of its own: understood where all of its words are known to
//! print and compute only.

use super::unknown_calls::PLAIN;

/// Whether every word outside of strings is one that prints or computes, and no string is filled in
/// when the code runs.
pub(super) fn has_only_known_words(text: &str) -> bool {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '"' | '\'' => quoted(rest, c),
            c if c.is_ascii_alphabetic() || c == '_' => known_word(rest),
            // Digits may be followed by letters: `0x1f`, `1e9`.
            c if c.is_ascii_digit() => Some(word_end(rest)),
            '`' | '\\' | '$' | '@' | '%' | '#' => None,
            c if c.is_ascii() => Some(c.len_utf8()),
            _ => None,
        };
        let Some(after) = end.and_then(|end| rest.get(end..)) else { return false };
        rest = after;
    }
    true
}

/// The end of a string in which nothing is filled in.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let inside = text.get(1..)?;
    let length = inside.find(quote)?;
    let string = inside.get(..length)?;
    // An escaped quote would end the string elsewhere.
    let filled = string.contains(['$', '#', '`', '{']) || string.ends_with('\\');
    (!filled).then_some(length + 2)
}

/// The end of a word that prints or computes, or of a variable with a name of one letter.
fn known_word(text: &str) -> Option<usize> {
    let end = word_end(text);
    let word = text.get(..end)?;
    let called = text.get(end..)?.trim_start().starts_with(['(', '"', '\'']);
    let known = PLAIN.binary_search(&word).is_ok() || end == 1 && !called;
    known.then_some(end)
}

fn word_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::has_only_known_words;

    #[test]
    fn only_printing_and_computing_is_understood() {
        for plain in [
            "print(1)",
            "println(1 + 1)",
            "cat(paste(\"a\", \"b\"))",
            "x = 3; print(x * 2)",
            "printf(\"%f\\n\", sin(pi / 2))",
            "IO.puts(\"hello\")",
            "",
        ] {
            assert!(has_only_known_words(plain), "{plain}");
        }
        for acting in [
            "rm(\"x\")",
            "f(1)",
            "print(`ls`)",
            "println(\"$(run(x))\")",
            "puts \"#{x}\"",
            "print(\"a",
            "f \"x\"",
            "write(s, 1)",
            "prınt(1)",
        ] {
            assert!(!has_only_known_words(acting), "{acting}");
        }
    }
}
