//! The language that a text is most likely in.

use super::engine::Reading;
use super::tables;

/// The language by script, then by its common words.
pub fn guess(text: &str, reading: &Reading) -> Option<usize> {
    let of = |lang: &str| tables::langs().iter().position(|l| *l == lang);
    let mut han = false;
    let mut cyrillic = false;
    // A few hundred characters are enough to recognize the script.
    for c in text.chars().filter(|c| !c.is_ascii()).take(400) {
        match c {
            '\u{3041}'..='\u{30FF}' => return of("ja"),
            '\u{AC00}'..='\u{D7A3}' | '\u{3131}'..='\u{318E}' => return of("ko"),
            '\u{900}'..='\u{97F}' => return of("hi"),
            '\u{600}'..='\u{6FF}' => return of("ar"),
            'і' | 'ї' | 'є' | 'ґ' | 'І' | 'Ї' | 'Є' | 'Ґ' => return of("uk"),
            '\u{400}'..='\u{4FF}' => cyrillic = true,
            '\u{4E00}'..='\u{9FFF}' => han = true,
            _ => {}
        }
    }
    if han {
        return of("zh");
    }
    if cyrillic {
        return of("ru");
    }
    let mut best = (0, 0);
    for (lang, count) in reading.hints.iter().enumerate() {
        if *count > best.1 {
            best = (lang, *count);
        }
    }
    (best.1 > 0).then_some(best.0)
}
