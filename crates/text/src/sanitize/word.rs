//! Words that imitate others: letters of several scripts in one word, or look-alikes only.

/// The scripts whose letters look like Latin ones, one bit each.
const LATIN: u8 = 1;
const GREEK: u8 = 2;
const CYRILLIC: u8 = 4;
const ARMENIAN: u8 = 8;
/// Cherokee, Coptic, Glagolitic and other scripts that are never mixed with Latin in ordinary text.
const RARE: u8 = 16;

/// Letters of other scripts that look like Latin ones.
const ALIKE: &str = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΫΪικνορυχϲϳϹϺ\
    АВЕЅІЈКМНОРСТУХҮҺԌԚԜӀЁЇасеорухѕіјүһԁԛԝѵёїӏ\
    ՕՍԼՏօսհոցքզգյլ";

/// Greek letters that do not look like Latin ones: units and formulas may contain them.
const PLAINLY_GREEK: &str = "ΔΘΛΞΠΣΦΨΩδθλμξπσφψ";

/// The scripts of which a text contains at least one letter that does not look like a Latin one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letters(u8);

impl Letters {
    pub(super) fn of(text: &str) -> Letters {
        if text.is_ascii() {
            return Letters(0);
        }
        Letters(text.chars().filter(|&c| !ALIKE.contains(c)).fold(0, |all, c| all | script(c)))
    }
}

/// What is known about the current word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// How many bytes of the token follow the word.
    end: usize,
    /// Whether its letters of other scripts become markers.
    disguised: bool,
}

impl Word {
    /// No word yet.
    pub(super) fn none() -> Word {
        Word { end: usize::MAX, disguised: false }
    }

    /// Whether the word has ended before `rest`.
    pub(super) fn is_over(self, rest: &str) -> bool {
        rest.len() <= self.end
    }

    /// The word at the start of `rest`, or the single character there if it is not a letter.
    pub(super) fn at(rest: &str, beside_ascii: bool, letters: Letters) -> Word {
        let part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36F}');
        let length = rest.find(|c| !part_of_word(c)).unwrap_or(rest.len());
        let Some(word) = rest.get(..length).filter(|word| !word.is_ascii()) else {
            let step = rest.chars().next().map_or(0, char::len_utf8).max(length);
            return Word { end: rest.len().saturating_sub(step), disguised: false };
        };
        let scripts = word.chars().fold(0, |all, c| all | script(c));
        let mixed = scripts.count_ones() > 1;
        let foreign = scripts & !LATIN != 0;
        let alike = foreign
            && word.chars().filter(|c| c.is_alphabetic()).all(|c| ALIKE.contains(c))
            && (beside_ascii || scripts & letters.0 == 0);
        Word { end: rest.len().saturating_sub(length), disguised: mixed || alike }
    }

    /// Whether a letter of this word becomes a marker.
    pub(super) fn disguises(self, c: char) -> bool {
        self.disguised && script(c) & !LATIN != 0 && !PLAINLY_GREEK.contains(c)
    }
}

fn script(c: char) -> u8 {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => LATIN,
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => GREEK,
        '\u{400}'..='\u{52F}' | '\u{1C80}'..='\u{1C8F}' | '\u{A640}'..='\u{A69F}' => CYRILLIC,
        '\u{531}'..='\u{587}' => ARMENIAN,
        '\u{13A0}'..='\u{13FF}'
        | '\u{AB70}'..='\u{ABBF}'
        | '\u{2C00}'..='\u{2CFF}'
        | '\u{10280}'..='\u{104FF}'
        | '\u{118A0}'..='\u{118FF}' => RARE,
        _ => 0,
    }
}
