//! The words with which a client starts a server behind the proxy.

use std::path::Path;

/// Words that start a proxy, of which the first `ours` are the proxy's own, with this option;
/// nothing if they have it already.
pub(super) fn with_option(
    words: &[String],
    ours: usize,
    name: &str,
    value: &str,
) -> Option<Vec<String>> {
    let own = words.get(..ours)?;
    let mut all = words.to_vec();
    match own.iter().position(|word| word == name) {
        Some(at) if own.get(at + 1).is_some_and(|old| old == value) => return None,
        Some(at) => value.clone_into(all.get_mut(at + 1)?),
        None => {
            let end = ours.checked_sub(1)?;
            all.splice(end..end, [name.to_owned(), value.to_owned()]);
        }
    }
    Some(all)
}

/// The words that start a server without the proxy; nothing if it is not behind the proxy.
pub(super) fn unwrapped(words: &[String]) -> Option<Vec<String>> {
    let [program, command, rest @ ..] = words else { return None };
    let name = Path::new(program).file_name()?.to_str()?;
    if !name.starts_with("countersign") || command != "mcp" {
        return None;
    }
    let at = rest.iter().position(|word| word == "--")?;
    rest.get(at + 1..).filter(|words| !words.is_empty()).map(<[String]>::to_vec)
}
