//! The base of accented and styled letters.

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
pub(super) fn base(c: char) -> Option<char> {
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
