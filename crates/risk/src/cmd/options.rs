//! Options of Windows programs in the form that the rules know.

use crate::shell::CommandWord;

/// Options that begin with a slash in the form the rules know: `/S/Q` is `-s -q`, `/a:h` is `-a=h`.
pub(crate) fn slash_options(words: &[CommandWord]) -> Vec<CommandWord> {
    let mut out = Vec::new();
    for word in words {
        let option = word
            .text
            .strip_prefix('/')
            .filter(|o| o.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'?'))
            .filter(|o| !o.contains(['\\', '.']) && !o.contains(":/") && o.len() <= 40)
            // Several short ones may follow each other; anything longer is a path.
            .filter(|o| !o.contains('/') || o.split('/').all(|part| part.len() <= 3));
        let Some(options) = option else {
            let mut word = word.clone();
            if word.text.starts_with('-') {
                word.text = word.text.to_ascii_lowercase();
            }
            out.push(word);
            continue;
        };
        for option in options.split('/') {
            let text = format!("-{}", option.to_ascii_lowercase().replacen(':', "=", 1));
            out.push(CommandWord { text, ..word.clone() });
        }
    }
    out
}
