//! Who submits a call, and what the caller may say about it.

use std::collections::HashSet;
use std::sync::Arc;

/// What people read in place of a label that is refused.
const UNKNOWN: &str = "unknown";
/// Words of many agent programs: a person with such a name does not make them unknown.
const COMMON_WORDS: [&str; 8] = ["agent", "cli", "code", "desktop", "hook", "ide", "proxy", "sdk"];

/// An authenticated agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub agent: String,
    /// Addresses that people confirmed to be those of the agent's own user.
    pub own_addresses: Arc<[String]>,
    /// Whether the kernel says who it is: it connected through the Unix socket, as hooks do.
    pub is_socket_peer: bool,
    /// Labels that it may not have.
    pub refused_labels: Arc<RefusedLabels>,
}

/// The names that no label of an agent program may have: people would read a person or the product
/// there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RefusedLabels {
    whole: HashSet<String>,
    words: HashSet<String>,
}

impl RefusedLabels {
    /// `whole`: not as the whole label. `words`: not as a word of it either.
    pub fn new<'n>(
        whole: impl IntoIterator<Item = &'n str>,
        words: impl IntoIterator<Item = &'n str>,
    ) -> RefusedLabels {
        let words: HashSet<String> = words.into_iter().map(letters).collect();
        let whole = whole.into_iter().map(letters).chain(words.iter().cloned()).collect();
        let words = words.into_iter().filter(|word| !COMMON_WORDS.contains(&word.as_str()));
        RefusedLabels { whole, words: words.collect() }
    }

    fn refuses(&self, label: &str) -> bool {
        let mut words = label.split(|c: char| !c.is_ascii_alphanumeric());
        self.whole.contains(&letters(label))
            || words.any(|word| self.words.contains(&letters(word)))
    }
}

/// A name without case and signs between its letters.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

impl Caller {
    /// An agent that nothing is known of but its name.
    pub fn named(agent: &str) -> Caller {
        Caller {
            agent: agent.to_owned(),
            own_addresses: [].into(),
            is_socket_peer: false,
            refused_labels: Arc::default(),
        }
    }

    /// The agent program that a call names, if this caller may name it. Tools of an agent program
    /// are known by name alone, so a token may only name the program that it is registered as. A
    /// name of a person or of the product is shown as unknown.
    pub fn accepted_host<'h>(&self, claimed: Option<&'h str>) -> Option<&'h str> {
        let own = letters(&self.agent);
        let is_own = |host: &str| !own.is_empty() && letters(host) == own;
        let accepted = claimed.filter(|host| self.is_socket_peer || is_own(host))?;
        Some(if self.refused_labels.refuses(accepted) { UNKNOWN } else { accepted })
    }
}
