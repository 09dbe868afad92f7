//! A number with its word.

/// Such as `1 rule` or `2 rules`.
pub fn counted(number: usize, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {word}{ending}")
}
