//! What each character stands for once its costume is taken off: case, width, accents, style.

/// One character after folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Leaves no trace: zero-width, bidi control, tag, combining mark, variation selector.
    Nothing,
    /// A letter, digit or vowel sign of a word.
    Letter(char),
    /// A ligature or a letter that stands for two.
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

/// Ranges of styled letters: first code point, how many, what the first one stands for.
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

/// The base of an accented letter, a small capital or a letter-like sign.
fn base(c: char) -> Option<char> {
    Some(match c {
        '\u{AA}'
        | '\u{E0}'..='\u{E5}'
        | '\u{101}'
        | '\u{103}'
        | '\u{105}'
        | '\u{1CE}'
        | '\u{1DF}'
        | '\u{1FB}'
        | '\u{201}'
        | '\u{203}'
        | '\u{227}'
        | '\u{251}'
        | '\u{1D00}'
        | '\u{1EA1}'
        | '\u{1EA3}'
        | '\u{1EA5}'
        | '\u{1EA7}'
        | '\u{1EA9}'
        | '\u{1EAB}'
        | '\u{1EAD}'
        | '\u{1EAF}'
        | '\u{1EB1}'
        | '\u{1EB3}'
        | '\u{1EB5}'
        | '\u{1EB7}' => 'a',
        '\u{180}' | '\u{253}' | '\u{299}' | '\u{1E03}' | '\u{1E05}' | '\u{1E07}' => 'b',
        '\u{E7}' | '\u{107}' | '\u{109}' | '\u{10B}' | '\u{10D}' | '\u{188}' | '\u{1D04}'
        | '\u{1E09}' | '\u{2102}' => 'c',
        '\u{F0}'
        | '\u{10F}'
        | '\u{111}'
        | '\u{256}'..='\u{257}'
        | '\u{1D05}'
        | '\u{1E0B}'
        | '\u{1E0D}'
        | '\u{1E0F}'
        | '\u{1E11}'
        | '\u{1E13}' => 'd',
        '\u{E8}'..='\u{EB}'
        | '\u{113}'
        | '\u{115}'
        | '\u{117}'
        | '\u{119}'
        | '\u{11B}'
        | '\u{1DD}'
        | '\u{205}'
        | '\u{207}'
        | '\u{25B}'
        | '\u{1D07}'
        | '\u{1EB9}'
        | '\u{1EBB}'
        | '\u{1EBD}'
        | '\u{1EBF}'
        | '\u{1EC1}'
        | '\u{1EC3}'
        | '\u{1EC5}'
        | '\u{1EC7}' => 'e',
        '\u{192}' | '\u{1E1F}' | '\u{A730}' => 'f',
        '\u{11D}'
        | '\u{11F}'
        | '\u{121}'
        | '\u{123}'
        | '\u{1E7}'
        | '\u{1F5}'
        | '\u{261}'..='\u{262}'
        | '\u{1E21}' => 'g',
        '\u{125}' | '\u{127}' | '\u{29C}' | '\u{1E23}' | '\u{1E25}' | '\u{1E27}' | '\u{1E29}'
        | '\u{1E2B}' | '\u{210E}' => 'h',
        '\u{EC}'..='\u{EF}'
        | '\u{129}'
        | '\u{12B}'
        | '\u{12D}'
        | '\u{12F}'
        | '\u{131}'
        | '\u{1D0}'
        | '\u{209}'
        | '\u{20B}'
        | '\u{26A}'
        | '\u{1E2D}'
        | '\u{1E2F}'
        | '\u{1EC9}'
        | '\u{1ECB}'
        | '\u{2139}' => 'i',
        '\u{135}' | '\u{1F0}' | '\u{1D0A}' => 'j',
        '\u{137}'..='\u{138}' | '\u{1E9}' | '\u{1D0B}' | '\u{1E31}' | '\u{1E33}' | '\u{1E35}' => {
            'k'
        }
        '\u{13A}' | '\u{13C}' | '\u{13E}' | '\u{140}' | '\u{142}' | '\u{29F}' | '\u{1E37}'
        | '\u{1E39}' | '\u{1E3B}' | '\u{1E3D}' | '\u{2113}' => 'l',
        '\u{1D0D}' | '\u{1E3F}' | '\u{1E41}' | '\u{1E43}' => 'm',
        '\u{F1}'
        | '\u{144}'
        | '\u{146}'
        | '\u{148}'..='\u{149}'
        | '\u{14B}'
        | '\u{1F9}'
        | '\u{274}'
        | '\u{1E45}'
        | '\u{1E47}'
        | '\u{1E49}'
        | '\u{207F}' => 'n',
        '\u{BA}'
        | '\u{F2}'..='\u{F6}'
        | '\u{F8}'
        | '\u{14D}'
        | '\u{14F}'
        | '\u{151}'
        | '\u{1A1}'
        | '\u{1D2}'
        | '\u{1EB}'
        | '\u{20D}'
        | '\u{20F}'
        | '\u{22F}'
        | '\u{1D0F}'
        | '\u{1ECD}'
        | '\u{1ECF}'
        | '\u{1ED1}'
        | '\u{1ED3}'
        | '\u{1ED5}'
        | '\u{1ED7}'
        | '\u{1ED9}'
        | '\u{1EDB}'
        | '\u{1EDD}'
        | '\u{1EDF}'
        | '\u{1EE1}'
        | '\u{1EE3}' => 'o',
        '\u{1D18}' | '\u{1E55}' | '\u{1E57}' => 'p',
        '\u{155}' | '\u{157}' | '\u{159}' | '\u{211}' | '\u{213}' | '\u{280}' | '\u{1E59}'
        | '\u{1E5B}' | '\u{1E5D}' | '\u{1E5F}' => 'r',
        '\u{15B}' | '\u{15D}' | '\u{15F}' | '\u{161}' | '\u{17F}' | '\u{219}' | '\u{1E61}'
        | '\u{1E63}' | '\u{1E65}' | '\u{1E67}' | '\u{A731}' => 's',
        '\u{163}' | '\u{165}' | '\u{167}' | '\u{21B}' | '\u{1D1B}' | '\u{1E6B}' | '\u{1E6D}'
        | '\u{1E6F}' | '\u{1E71}' => 't',
        '\u{F9}'..='\u{FC}'
        | '\u{169}'
        | '\u{16B}'
        | '\u{16D}'
        | '\u{16F}'
        | '\u{171}'
        | '\u{173}'
        | '\u{1B0}'
        | '\u{1D4}'
        | '\u{1D6}'
        | '\u{1D8}'
        | '\u{1DA}'
        | '\u{1DC}'
        | '\u{215}'
        | '\u{217}'
        | '\u{1D1C}'
        | '\u{1EE5}'
        | '\u{1EE7}'
        | '\u{1EE9}'
        | '\u{1EEB}'
        | '\u{1EED}'
        | '\u{1EEF}'
        | '\u{1EF1}' => 'u',
        '\u{1D20}' | '\u{1E7D}' | '\u{1E7F}' => 'v',
        '\u{175}' | '\u{1D21}' | '\u{1E81}' | '\u{1E83}' | '\u{1E85}' | '\u{1E87}' | '\u{1E89}' => {
            'w'
        }
        '\u{1E8B}' | '\u{1E8D}' => 'x',
        '\u{FD}' | '\u{FF}' | '\u{177}' | '\u{28F}' | '\u{1E8F}' | '\u{1EF3}' | '\u{1EF5}'
        | '\u{1EF7}' | '\u{1EF9}' => 'y',
        '\u{17A}' | '\u{17C}' | '\u{17E}' | '\u{1D22}' | '\u{1E91}' | '\u{1E93}' | '\u{1E95}' => {
            'z'
        }
        '\u{450}'..='\u{451}' => 'е',
        '\u{439}' | '\u{45D}' => 'и',
        '\u{457}' => 'і',
        '\u{453}' | '\u{491}' => 'г',
        '\u{45C}' => 'к',
        '\u{45E}' => 'у',
        '\u{3AC}' | '\u{1F00}'..='\u{1F01}' => 'α',
        '\u{3AD}' => 'ε',
        '\u{3AE}' => 'η',
        '\u{390}' | '\u{3AF}' | '\u{3CA}' => 'ι',
        '\u{3CC}' => 'ο',
        '\u{3B0}' | '\u{3CB}' | '\u{3CD}' => 'υ',
        '\u{3CE}' => 'ω',
        '\u{3C2}' => 'σ',
        '\u{622}'..='\u{623}' | '\u{625}' | '\u{671}' => 'ا',
        '\u{649}' => 'ي',
        '\u{629}' => 'ه',
        '\u{6A9}' => 'ك',
        '\u{6CC}' => 'ي',
        '\u{901}' => 'ं',
        '\u{929}' => 'न',
        '\u{931}' => 'र',
        '\u{958}' => 'क',
        '\u{959}' => 'ख',
        '\u{95A}' => 'ग',
        '\u{95B}' => 'ज',
        '\u{95C}' => 'ड',
        '\u{95D}' => 'ढ',
        '\u{95E}' => 'फ',
        _ => return None,
    })
}

/// What a folded Cyrillic or Greek letter looks like to a reader of Latin.
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

/// Whether a character is Han, kana or Hangul: written without spaces we could rely on.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3041}'..='\u{30FF}' | '\u{3005}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}' | '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// Whether a character has no width or only steers direction or style.
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

/// Tag characters: ASCII that no screen shows.
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
pub fn fold(c: char) -> Fold {
    if c.is_ascii_alphanumeric() {
        return Fold::Letter(c.to_ascii_lowercase());
    }
    if is_stop(c) {
        return Fold::Stop(c);
    }
    if c.is_whitespace() {
        return Fold::Space;
    }
    if c.is_ascii() {
        return if c.is_ascii_control() { Fold::Nothing } else { Fold::Other(c) };
    }
    fold_wide(c)
}

fn fold_wide(c: char) -> Fold {
    if is_invisible(c) || is_mark(c) {
        return Fold::Nothing;
    }
    if let Some(plain) = styled(u32::from(c)) {
        return Fold::Letter(plain);
    }
    if matches!(c, '\u{30A1}'..='\u{30F6}') {
        let hiragana = char::from_u32(u32::from(c) - 0x60).unwrap_or(c);
        return Fold::Alone(hiragana);
    }
    if is_unspaced(c) || is_emoji(c) {
        return Fold::Alone(c);
    }
    let mut lower = c.to_lowercase();
    let c = lower.next().unwrap_or(c);
    match c {
        'ß' => return Fold::Pair('s', 's'),
        'æ' => return Fold::Pair('a', 'e'),
        'œ' => return Fold::Pair('o', 'e'),
        'þ' => return Fold::Pair('t', 'h'),
        'ﬁ' => return Fold::Pair('f', 'i'),
        'ﬂ' => return Fold::Pair('f', 'l'),
        _ => {}
    }
    if let Some(base) = base(c) {
        return Fold::Letter(base);
    }
    if c.is_alphanumeric() || matches!(c, '\u{900}'..='\u{963}') {
        return Fold::Letter(c);
    }
    Fold::Other(c)
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
