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

/// The plain letters of U+00C0 to U+024F, in order; a dot where there is none.
const LATIN: &str = "\
    aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.yaaaaaaccccccccdd\
    ddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkkkllllllllllnnnnnnnnnoooooo..rrrrrrssssss\
    ssttttttuuuuuuuuuuuuwwyyyzzzzzzsbb.....cc.....e..ff.............oo.............u\
    u............................aaiioouuuuuuuuuueaaaa....ggkkoooo..j...gg..nnaa....\
    aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy...............b............";

/// The plain letters of U+1E00 to U+1EFF, in order; a dot where there is none.
const LATIN_MORE: &str = "\
    aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooo\
    oooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwy......\
    aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuu\
    uuyyyyyyyy......";

/// Small capitals and letter-like signs, each followed by its plain letter.
const SIGNS: &str = "ᴀaɑaªaʙbɓbᴄcℂcᴅdɖdɗdᴇeɛeꜰfɡgɢgʜhℎhɪiℹiᴊjᴋkʟlℓl\
    ᴍmɴnⁿnᴏoºoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz";

/// The base of an accented letter, a small capital or a letter-like sign.
fn base(c: char) -> Option<char> {
    let code = u32::from(c);
    let plain = |table: &str, first: u32| {
        let at = usize::try_from(code.checked_sub(first)?).ok()?;
        table.as_bytes().get(at).map(|b| char::from(*b)).filter(|b| *b != '.')
    };
    match c {
        '\u{C0}'..='\u{24F}' => plain(LATIN, 0xC0),
        '\u{1E00}'..='\u{1EFF}' => plain(LATIN_MORE, 0x1E00),
        'ª'
        | 'º'
        | '\u{250}'..='\u{2AF}'
        | '\u{1D00}'..='\u{1D7F}'
        | '\u{207F}'
        | '\u{2100}'..='\u{214F}'
        | '\u{A730}'
        | '\u{A731}' => {
            let mut signs = SIGNS.chars();
            signs.find(|s| *s == c).and_then(|_| signs.next())
        }
        _ => other_base(c),
    }
}

/// The base of a Greek, Cyrillic, Arabic or Devanagari letter.
fn other_base(c: char) -> Option<char> {
    Some(match c {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        'ё' | 'ѐ' => 'е',
        'й' | 'ѝ' => 'и',
        'ї' => 'і',
        'ґ' | 'ѓ' => 'г',
        'ќ' => 'к',
        'ў' => 'у',
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | '\u{6CC}' => 'ي',
        'ة' => 'ه',
        '\u{6A9}' => 'ك',
        '\u{901}' => '\u{902}',
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
