//! Payment card numbers: prefixes, lengths and the check digit.

use super::tables;

/// The longest number including its separators.
const LONGEST: usize = 24;

/// Where the card number that begins here ends. Spaces or hyphens may separate its groups.
pub(super) fn number(bytes: &[u8], start: usize) -> Option<usize> {
    let before = start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    if matches!(before, Some(b'.' | b'_' | b'-' | b'/' | b'+' | b'#')) {
        return None;
    }
    let (mut digits, mut count, mut end) = ([0_u8; 20], 0, start);
    let mut group = 0;
    let window = bytes.get(start..)?.iter().take(LONGEST).enumerate();
    for (offset, &byte) in window {
        match byte {
            b'0'..=b'9' => {
                *digits.get_mut(count)? = byte - b'0';
                count += 1;
                group += 1;
                end = start + offset + 1;
            }
            // Groups have at least three digits and one separator between them.
            b' ' | b'-' if group >= 3 && end == start + offset => group = 0,
            _ => break,
        }
    }
    let digits = digits.get(..count)?;
    let after = bytes.get(end).copied();
    let goes_on = after.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_'));
    let decimal = after == Some(b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    (!goes_on && !decimal && is_issued(digits) && checks(digits)).then_some(end)
}

fn is_issued(digits: &[u8]) -> bool {
    let begins = |start: &str| {
        digits.len() >= start.len() && start.bytes().zip(digits).all(|(a, b)| a - b'0' == *b)
    };
    tables::cards().iter().any(|(start, lengths)| lengths.contains(&digits.len()) && begins(start))
}

/// The Luhn check digit.
fn checks(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, u32::from(digit) * 2) {
            (0, _) => u32::from(digit),
            (_, twice) if twice > 9 => twice - 9,
            (_, twice) => twice,
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|&digit| digit != 0)
}
