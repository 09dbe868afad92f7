//! Secrets that were found once, sought wherever else they stand.

use std::collections::HashMap;

use super::Hit;

/// How many bytes are looked up at each place; shorter secrets are not sought.
const HEAD: usize = 8;

/// Secrets of one call.
#[derive(Default)]
pub(crate) struct Known<'s> {
    by_head: HashMap<[u8; HEAD], Vec<(&'static str, &'s str)>>,
}

impl<'s> Known<'s> {
    /// Those that can be nothing but a secret. An agent may call anything a password: what could
    /// be the name of a program, a host or a path stays visible where it stands without that name,
    /// or a whole command could be made invisible word by word.
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

    /// Where they stand in a text.
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

    /// Whether there is nothing to seek.
    pub(super) fn is_empty(&self) -> bool {
        self.by_head.is_empty()
    }
}

/// Letters and digits both and no name of anything, or signs that no name has.
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
