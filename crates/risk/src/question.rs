//! What a person is asked about, as keys: two calls with the same keys do the same to the same
//! things, so that an answer for the rest of a session covers both.

use std::sync::Arc;

use crate::name_lists::FIRST_OF_KIND_FINDINGS;
use countersign_json::canonical::Digest;
use countersign_types::tier::Tier;

/// How many topics of one call are noted; a call with more has to be asked about every time.
const MAX_TOPICS: usize = 64;

/// The command that the reader is at. A finding is about it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandSubject {
    /// Its words, folder and variables; none if they are not all known.
    pub text: Option<Arc<str>>,
    /// Through which other commands it is run; none if that is not known.
    pub outer: Option<Arc<str>>,
    /// The same for commands inside of it.
    pub inner: Option<Arc<str>>,
}

impl CommandSubject {
    /// Before the first command of a call.
    pub fn call() -> CommandSubject {
        CommandSubject { inner: Some(Arc::from("")), ..CommandSubject::default() }
    }
}

/// What a finding asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// Exactly this.
    key: Digest,
    /// More than this: who approved one of these approved this as well.
    wider: Vec<Digest>,
    /// It is about a program, whatever the program is given.
    first_of_kind: bool,
}

impl Topic {
    /// Whether it is about a program, whatever the program is given.
    pub fn is_first_of_kind(&self) -> bool {
        self.first_of_kind
    }

    /// The key of exactly this.
    pub fn key(&self) -> &Digest {
        &self.key
    }

    /// The keys for it and for more than it.
    pub fn keys(&self) -> impl Iterator<Item = &Digest> {
        std::iter::once(&self.key).chain(&self.wider)
    }

    /// Whether a key for it, or for more than it, is known.
    pub fn is_known(&self, mut known: impl FnMut(&Digest) -> bool) -> bool {
        known(&self.key) || self.wider.iter().any(known)
    }
}

/// Why a call asks: a topic for each asking finding and its subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    topics: Vec<Topic>,
    /// Something asks that has no key.
    open: bool,
}

impl Question {
    /// Notes a finding that asks about a subject, or about less than the subjects in `wider`.
    pub(crate) fn add(&mut self, code: &str, tier: Tier, subject: Option<&str>, wider: &[String]) {
        let Some(subject) = subject.filter(|_| tier < Tier::Critical) else {
            self.open = true;
            return;
        };
        let key = |tier: Tier, subject: &str| {
            let text = format!("countersign/question/1\0{code}\0{tier:?}\0{subject}");
            Digest::of(text.as_bytes())
        };
        let above = [Tier::Medium, Tier::High].into_iter().filter(|other| *other >= tier);
        let wider = above.flat_map(|tier| wider.iter().map(move |subject| key(tier, subject)));
        let first_of_kind = tier == Tier::Medium && FIRST_OF_KIND_FINDINGS.contains(&code);
        self.add_topic(Topic {
            key: key(tier, subject),
            wider: wider.collect(),
            first_of_kind: first_of_kind && is_program(subject),
        });
    }

    /// Notes that something asks that no answer for a session can cover.
    pub(crate) fn add_open(&mut self) {
        self.open = true;
    }

    fn add_topic(&mut self, topic: Topic) {
        if self.topics.contains(&topic) {
            return;
        }
        if self.topics.len() < MAX_TOPICS {
            self.topics.push(topic);
        } else {
            self.open = true;
        }
    }

    /// Adds what another reading of the call asks.
    pub(crate) fn absorb(&mut self, other: Question) {
        self.open |= other.open;
        other.topics.into_iter().for_each(|topic| self.add_topic(topic));
    }

    /// Whether something asks that no answer for a session can cover.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// All topics, also of a call for which no answer for the session can be given.
    pub fn all_topics(&self) -> &[Topic] {
        &self.topics
    }

    /// What an answer for the rest of the session has to cover; none if no such answer can be
    /// given.
    pub fn topics(&self) -> Option<&[Topic]> {
        (!self.open && !self.topics.is_empty()).then_some(&self.topics)
    }
}

/// Whether a subject is a program without the words around it, as [`program_subject`] writes it.
fn is_program(subject: &str) -> bool {
    subject.starts_with(PROGRAM)
}

/// The mark of a subject that is a program.
const PROGRAM: char = '\u{7}';

/// The subject of a question about a program, whatever starts it and whatever it is given.
pub(crate) fn program_subject(name: &str, rights: &str) -> String {
    format!("{PROGRAM}{name}{PROGRAM}{rights}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_subject_critical_or_too_long_has_no_topics() {
        let mut question = Question::default();
        assert_eq!(question.topics(), None);
        question.add("a", Tier::High, Some("rm -rf x"), &[]);
        question.add("a", Tier::High, Some("rm -rf x"), &[]);
        assert_eq!(question.topics().map(<[Topic]>::len), Some(1));
        let mut critical = question.clone();
        critical.add("b", Tier::Critical, Some("rm -rf /"), &[]);
        assert_eq!(critical.topics(), None);
        let mut unknown = question.clone();
        unknown.add("b", Tier::Medium, None, &[]);
        assert_eq!(unknown.topics(), None);
        for number in 0..MAX_TOPICS {
            question.add("a", Tier::Medium, Some(&number.to_string()), &[]);
        }
        assert_eq!(question.topics(), None);
    }
}
