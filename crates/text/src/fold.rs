//! Folding of single characters for comparison: case, width, accents and style are removed.

mod base;

use base::base;

/// One character after folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldedChar {
    /// Removed: zero-width, bidi control, tag, combining mark, variation selector.
    Nothing,
    /// A letter, digit or vowel sign of a word.
    Letter(char),
    /// A ligature or a letter that folds to two letters.
    Pair(char, char),
    /// A character that is a word by itself: Han, kana, Hangul, emoji.
    Alone(char),
    /// The end of a sentence.
    Stop(char),
    /// White space.
    Space,
    /// Anything else.
    Other(char),
}

/// Ranges of styled letters: first code point, count, folded form of the first.
const STYLED: &[(u32, u32, char)] = &[
    (0xFF21, 26, 'a'),
    (0xFF41, 26, 'a'),
    (0xFF10, 10, '0'),
    (0x24B6, 26, 'a'),
    (0x24D0, 26, 'a'),
    (0x249C, 26, 'a'),
    (0x1F110, 26, 'a'),
    (0x1F130, 26, 'a'),
    (0x1F150, 26, 'a'),
    (0x1F170, 26, 'a'),
    (0x1F1E6, 26, 'a'),
];

/// The Latin letter that a folded Cyrillic or Greek letter looks like.
pub fn lookalike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' => 'a',
        'в' | 'ь' | 'β' => 'b',
        'с' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' => 'e',
        'н' | 'һ' => 'h',
        'і' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'п' | 'η' => 'n',
        'о' | 'ο' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'и' | 'μ' | 'υ' => 'u',
        'ѵ' | 'ν' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        _ => return None,
    })
}

/// Whether a folded letter is Latin.
pub fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// Whether a letter is Cyrillic or Greek.
pub fn is_cyrillic_or_greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3FF}' | '\u{400}'..='\u{52F}')
}

/// Whether a character is Han, kana or Hangul, which are written without reliable spaces.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{30FF}' | '\u{3005}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}' | '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// Whether a character has no width or only controls direction or style.
pub fn is_invisible(c: char) -> bool {
    is_zero_width(c) || is_bidi(c) || is_tag(c)
}

/// Zero-width characters, soft hyphen and variation selectors.
pub fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}'
        | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}'
        | '\u{206A}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{E0100}'..='\u{E01EF}')
}

/// Characters that change the direction of the text around them.
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Tag characters: invisible copies of ASCII.
pub fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{610}'..='\u{61A}'
        | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}' | '\u{6D6}'..='\u{6ED}' | '\u{93C}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}'
        | '\u{3099}' | '\u{309A}' | '\u{FE20}'..='\u{FE2F}' | '\u{1F3FB}'..='\u{1F3FF}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}'
        | '\u{231A}'..='\u{23FF}')
}

fn is_stop(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | ';'
            | '\n'
            | '\r'
            | '…'
            | '。'
            | '！'
            | '？'
            | '；'
            | '।'
            | '॥'
            | '۔'
            | '؟'
            | '؛'
            | '\u{2028}'
            | '\u{2029}'
    )
}

fn styled(code: u32) -> Option<char> {
    if (0x1D400..=0x1D6A3).contains(&code) {
        let letter = u8::try_from((code - 0x1D400) % 26).ok()?;
        return Some(char::from(b'a' + letter));
    }
    if (0x1D7CE..=0x1D7FF).contains(&code) {
        let digit = u8::try_from((code - 0x1D7CE) % 10).ok()?;
        return Some(char::from(b'0' + digit));
    }
    let (first, _, to) = STYLED.iter().find(|(first, n, _)| (*first..first + n).contains(&code))?;
    char::from_u32(u32::from(*to) + code - first)
}

/// Folds one character.
pub fn fold(c: char) -> FoldedChar {
    if c.is_ascii_alphanumeric() {
        return FoldedChar::Letter(c.to_ascii_lowercase());
    }
    if is_stop(c) {
        return FoldedChar::Stop(c);
    }
    if c.is_whitespace() {
        return FoldedChar::Space;
    }
    if c.is_ascii() {
        return if c.is_ascii_control() { FoldedChar::Nothing } else { FoldedChar::Other(c) };
    }
    fold_wide(c)
}

fn fold_wide(c: char) -> FoldedChar {
    if is_invisible(c) || is_mark(c) {
        return FoldedChar::Nothing;
    }
    if let Some(plain) = styled(u32::from(c)) {
        return FoldedChar::Letter(plain);
    }
    if matches!(c, '\u{30A1}'..='\u{30F6}') {
        let hiragana = char::from_u32(u32::from(c) - 0x60).unwrap_or(c);
        return FoldedChar::Alone(hiragana);
    }
    if is_unspaced(c) || is_emoji(c) {
        return FoldedChar::Alone(c);
    }
    let mut lower = c.to_lowercase();
    let c = lower.next().unwrap_or(c);
    match c {
        'ß' => return FoldedChar::Pair('s', 's'),
        'æ' => return FoldedChar::Pair('a', 'e'),
        'œ' => return FoldedChar::Pair('o', 'e'),
        'þ' => return FoldedChar::Pair('t', 'h'),
        'ﬁ' => return FoldedChar::Pair('f', 'i'),
        'ﬂ' => return FoldedChar::Pair('f', 'l'),
        _ => {}
    }
    if let Some(base) = base(c) {
        return FoldedChar::Letter(base);
    }
    if c.is_alphanumeric() || matches!(c, '\u{900}'..='\u{963}') {
        return FoldedChar::Letter(c);
    }
    FoldedChar::Other(c)
}

/// The letter a digit or sign imitates, as in `k1ll` or `d!e`; `one` chooses between i and l.
pub fn leet(c: char, one: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' | '|' => one,
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        '8' => 'b',
        '9' => 'g',
        other => other,
    }
}
