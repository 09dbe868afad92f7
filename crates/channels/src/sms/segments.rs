//! The number of SMS segments of a text. One character outside the GSM alphabet makes all
//! characters take 16 bits instead of 7 (3GPP TS 23.038).

/// The maximum number of segments of one text.
pub const MAX_SEGMENTS: usize = 3;
/// The basic alphabet; one unit each.
const BASIC: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
                     ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
/// The extension table; two units each: an escape and a character.
const EXTENDED: &str = "\u{c}^{}\\[~]|€";

/// Units in a single segment, and in each segment of a longer text.
const GSM: (usize, usize) = (160, 153);
const UCS_2: (usize, usize) = (70, 67);

/// The number of segments of this text.
pub fn segments(text: &str) -> usize {
    let sizes: Option<Vec<usize>> = text.chars().map(gsm_units).collect();
    match sizes {
        Some(sizes) => count(&sizes, GSM),
        None => count(&text.chars().map(char::len_utf16).collect::<Vec<_>>(), UCS_2),
    }
}

fn gsm_units(letter: char) -> Option<usize> {
    if letter.is_ascii_alphanumeric() || BASIC.contains(letter) {
        Some(1)
    } else {
        EXTENDED.contains(letter).then_some(2)
    }
}

fn count(sizes: &[usize], (alone, together): (usize, usize)) -> usize {
    if sizes.iter().sum::<usize>() <= alone {
        return 1;
    }
    let (mut messages, mut filled) = (1, 0);
    for size in sizes {
        // A character of two units is not split.
        if filled + size > together {
            messages += 1;
            filled = 0;
        }
        filled += size;
    }
    messages
}

/// The beginning of a text that fits into this many segments, with a mark if it was cut.
pub fn cut(text: &str, most: usize) -> String {
    if segments(text) <= most {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let shortened = |end: usize| format!("{}...", text.get(..end).unwrap_or_default());
    // A longer beginning never needs fewer segments.
    let fitting = ends.partition_point(|end| segments(&shortened(*end)) <= most);
    shortened(fitting.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted_as_networks_count_them() {
        for (text, messages) in [
            (String::new(), 1),
            ("a".repeat(160), 1),
            ("a".repeat(161), 2),
            ("a".repeat(306), 2),
            ("a".repeat(307), 3),
            ("a".repeat(459), 3),
            ("a".repeat(460), 4),
            ("€".repeat(80), 1),
            ("€".repeat(81), 2),
            // 153 is odd: an extension letter does not fit into the last unit.
            ("€".repeat(152), 2),
            ("€".repeat(153), 3),
            ("ж".repeat(70), 1),
            ("ж".repeat(71), 2),
            ("ж".repeat(134), 2),
            ("ж".repeat(135), 3),
            // One letter outside makes all of them large.
            (format!("{}ж", "a".repeat(69)), 1),
            (format!("{}ж", "a".repeat(70)), 2),
            ("\u{1f534}".repeat(35), 1),
            ("\u{1f534}".repeat(36), 2),
            ("\u{1f534}".repeat(66), 2),
            ("\u{1f534}".repeat(67), 3),
            ("\u{e4}\u{f6}\u{fc}\u{df}\u{e9}".repeat(32), 1),
            ("\u{e7}".to_owned(), 1),
            ("\u{e7}".repeat(71), 2),
        ] {
            assert_eq!(segments(&text), messages, "{} {text}", text.len());
        }
        assert_eq!(BASIC.chars().count(), 127, "128 with the escape");
    }

    #[test]
    fn what_is_cut_fits_and_says_so() {
        for letter in ["a", "€", "ж", "\u{1f534}", "a€жb"] {
            let text = letter.repeat(1_000);
            for most in 1..=3 {
                let short = cut(&text, most);
                assert!(segments(&short) <= most && short.ends_with("..."), "{letter} {most}");
                assert!(short.len() > 60, "{letter} {most}");
            }
        }
        assert_eq!(cut("short", 1), "short");
    }
}
