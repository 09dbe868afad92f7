//! Finds secrets that were already found once wherever else they occur.

use std::collections::HashMap;

use super::redacted::Hit;
use super::search;

/// How many bytes are looked up at each position; shorter secrets are not searched for.
const HEAD: usize = 8;

/// The secrets of one call.
#[derive(Default)]
pub(crate) struct Known<'s> {
    by_head: HashMap<[u8; HEAD], Vec<(&'static str, &'s str)>>,
}

impl<'s> Known<'s> {
    /// Only those that cannot be anything but a secret. An agent may call anything a password: a
    /// text that could be the name of a program, host or path stays visible elsewhere, or an agent
    /// could hide a whole command word by word.
    pub(super) fn of(secrets: &'s [(&'static str, String)]) -> Known<'s> {
        let mut known = Known::default();
        for (kind, secret) in secrets.iter().filter(|(_, secret)| is_opaque(secret)) {
            if let Some(head) = secret.as_bytes().first_chunk::<HEAD>() {
                known.by_head.entry(*head).or_default().push((kind, secret));
            }
        }
        for list in known.by_head.values_mut() {
            list.sort_unstable_by_key(|(_, secret)| std::cmp::Reverse(secret.len()));
        }
        known
    }

    /// Where the secrets occur in a text.
    pub(super) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        if self.is_empty() {
            return hits;
        }
        let mut at = 0;
        while let Some(rest) = text.as_bytes().get(at..) {
            let Some(head) = rest.first_chunk::<HEAD>() else { break };
            let list = self.by_head.get(head).map(Vec::as_slice).unwrap_or_default();
            let found = list.iter().find(|(_, secret)| rest.starts_with(secret.as_bytes()));
            at += found.map_or(1, |(kind, secret)| {
                hits.push(Hit { start: at, end: at + secret.len(), kind });
                secret.len()
            });
        }
        hits
    }

    /// Whether there is nothing to search for.
    pub(super) fn is_empty(&self) -> bool {
        self.by_head.is_empty()
    }
}

/// Contains both letters and digits and is no known name, or contains symbols that no name has.
fn is_opaque(secret: &str) -> bool {
    let any = |test: fn(u8) -> bool| secret.bytes().any(test);
    let letters = any(|b| b.is_ascii_alphabetic());
    let digits = any(|b| b.is_ascii_digit());
    let named = any(|b| matches!(b, b'.' | b'/' | b':' | b'\\' | b'~' | b'-' | b' '));
    let odd = any(|b| matches!(b, b'!' | b'#' | b'%' | b'^' | b'*' | b'?' | b'+' | b'=' | b'@'));
    let cased = any(|b| b.is_ascii_uppercase()) && any(|b| b.is_ascii_lowercase());
    if secret.len() < HEAD || !letters {
        return false;
    }
    if named {
        return secret.len() >= 20 && digits && cased && !secret.contains([' ', '\\', '~']);
    }
    digits || odd
}

/// Everything to hide in a text, including known secrets.
pub(super) fn hits(text: &str, known: Option<&Known<'_>>) -> Vec<Hit> {
    let mut hits = search::hits(text);
    hits.extend(known.into_iter().flat_map(|known| known.hits(text)));
    hits
}
