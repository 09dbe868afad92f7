//! Which characters may be displayed as they are.
//!
//! An allow-list: letters and digits of any script, the marks that scripts need, and the blocks of
//! visible punctuation, symbols and pictures. Everything else becomes a marker.

/// Displayed for a line break.
pub const LINE_BREAK: char = '\u{23CE}';

/// Displayed for a tab.
pub const TAB: char = '\u{21E5}';

/// How a character is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// As itself.
    Plain,
    /// As a marker; ordinary in some legitimate text.
    Marked,
    /// As a marker; it hides, reorders or imitates another.
    Deceptive,
}

/// How a character is displayed outside the words that `word` examines.
pub(super) fn class(c: char) -> Class {
    let code = u32::from(c);
    match code {
        0x20..=0x7E => Class::Plain,
        0x00..=0x1F | 0x7F..=0x9F => Class::Deceptive,
        _ if is_hidden(code) || is_disguise(code) => Class::Deceptive,
        _ if is_ours(c) || is_marked(code) => Class::Marked,
        _ if is_script_mark(code) || is_sign(code) || c.is_alphanumeric() => Class::Plain,
        _ => Class::Marked,
    }
}

/// The characters of markers, and brackets that look like them.
pub(super) fn is_ours(c: char) -> bool {
    matches!(
        c,
        LINE_BREAK
            | TAB
            | '\u{27E8}'..='\u{27E9}'
            | '\u{2329}'..='\u{232A}'
            | '\u{3008}'..='\u{3009}'
    )
}

/// Zero-width characters with a legitimate use in some scripts and in emoji.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Common symbols and digits of other scripts that imitate ASCII ones next to ASCII letters.
pub(super) fn is_stray(c: char) -> bool {
    matches!(
        c,
        '\u{589}' | '\u{58A}' | '\u{5C0}' | '\u{5C3}' | '\u{660}' | '\u{66B}'
            ..='\u{66C}' | '\u{6D4}' | '\u{6F0}'
    )
}

/// Letters and symbols that are laid out from right to left.
pub(super) fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{8FF}'
            | '\u{FB1D}'..='\u{FDFF}'
            | '\u{FE70}'..='\u{FEFE}'
            | '\u{10800}'..='\u{10FFF}'
            | '\u{1E800}'..='\u{1EFFF}'
    )
}

/// Invisible, blank or reordering: zero width, fillers, bidi controls, odd spaces, tags.
fn is_hidden(code: u32) -> bool {
    matches!(
        code,
        0xAD | 0x34F
            | 0x61C
            | 0x115F..=0x1160
            | 0x1680
            | 0x17B4..=0x17B5
            | 0x180B..=0x180F
            | 0x2000..=0x200B
            | 0x200E..=0x200F
            | 0x2028..=0x202E
            | 0x205F..=0x206F
            | 0x2800
            | 0x3164
            | 0xFE00..=0xFE0D
            | 0xFEFF
            | 0xFFA0
            | 0xFFF0..=0xFFFB
            | 0x13430..=0x1345F
            | 0x1BCA0..=0x1BCA3
            | 0x1D159
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
    )
}

/// Imitates ASCII anywhere: symbols of paths, options, quotes and addresses, and letters that other
/// blocks repeat.
fn is_disguise(code: u32) -> bool {
    matches!(
        code,
        0xB4 | 0x1C0
            | 0x1C3
            | 0x251
            | 0x261
            | 0x269
            | 0x2B9..=0x2BA
            | 0x2C8
            | 0x2D0
            | 0x2D7
            | 0x37E
            | 0x387
            | 0x66D
            | 0x1D00..=0x1D2B
            | 0x1FBD..=0x1FBF
            | 0x1FEF
            | 0x2010..=0x2012
            | 0x201A
            | 0x2024
            | 0x2032
            | 0x2035
            | 0x2043..=0x2044
            | 0x204E
            | 0x2052..=0x2053
            | 0x2126
            | 0x212A..=0x212B
            | 0x2212
            | 0x2215..=0x2217
            | 0x2223
            | 0x2236
            | 0x223C
            | 0x2571..=0x2572
            | 0x2758
            | 0x27CB
            | 0x27CD
            | 0x29F5
            | 0x29F8..=0x29F9
            | 0x2E40
            | 0xA4D0..=0xA4FF
            | 0xA789..=0xA78C
            | 0xFB00..=0xFB06
            | 0xFF0D..=0xFF0F
            | 0xFF21..=0xFF3A
            | 0xFF3C
            | 0xFF41..=0xFF5A
            | 0x1D400..=0x1D7FF
    )
}

/// Visible or harmless, but similar to another character or not always drawn.
fn is_marked(code: u32) -> bool {
    matches!(
        code,
        // Spaces of ordinary prose.
        0xA0 | 0x202F | 0x3000
            // Marks that make one letter look like another.
            | 0x300..=0x36F
            | 0x483..=0x489
            | 0x1AB0..=0x1AFF
            | 0x1DC0..=0x1DFF
            | 0x20D0..=0x20FF
            | 0x302A..=0x302F
            | 0x3099..=0x309A
            | 0xFE20..=0xFE2F
            // Emoji and joining variants.
            | 0x200C..=0x200D
            | 0xFE0E..=0xFE0F
            // Roman numerals, and ideographs that duplicate others.
            | 0x2160..=0x217F
            | 0xF900..=0xFAFF
            | 0x2F800..=0x2FA1F
            | 0xFFFC..=0xFFFF
            // Private-use characters have no defined appearance.
            | 0xE000..=0xF8FF
            | 0xF0000..=0x0010_FFFF
    )
}

/// Marks that Hebrew, Arabic, Indic and South-East Asian scripts need.
fn is_script_mark(code: u32) -> bool {
    matches!(
        code,
        0x591..=0x5C7
            | 0x5F3..=0x5F4
            | 0x60C
            | 0x610..=0x61B
            | 0x61F
            | 0x64B..=0x65F
            | 0x66A..=0x66D
            | 0x6D4
            | 0x6D6..=0x6DC
            | 0x6DF..=0x6ED
            | 0x900..=0xEFF
            | 0xF00..=0x109F
            | 0x1780..=0x17DD
    )
}

/// Visible punctuation, symbols, arrows, frames and pictures.
fn is_sign(code: u32) -> bool {
    matches!(
        code,
        0xA1..=0xFF
            | 0x2C2..=0x2DF
            | 0x55A..=0x55F
            | 0x589..=0x58A
            | 0x2013..=0x2027
            | 0x2030..=0x205E
            | 0x2070..=0x23FF
            | 0x2460..=0x2BFF
            | 0x3001..=0x303F
            | 0x30FB
            | 0x3200..=0x33FF
            | 0xFF01..=0xFF65
            | 0x1F000..=0x1FAFF
    )
}
