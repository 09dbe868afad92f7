//! The words of a command as one text, so that an option and its value are seen together.

use countersign_json::Value;

use super::scan::BETWEEN;

/// The words of a command joined, so that an option and its value in the next word are seen
/// together; `None` if they cannot be joined and split again.
pub(super) fn joined(items: &[Value<'_>]) -> Option<String> {
    if items.len() < 2 {
        return None;
    }
    let mut text = String::new();
    for (index, item) in items.iter().enumerate() {
        let word = item.as_str()?;
        if word.as_bytes().contains(&BETWEEN) {
            return None;
        }
        if index > 0 {
            text.push(char::from(BETWEEN));
        }
        text.push_str(word);
    }
    Some(text)
}
