//! What can be answered without the daemon, and without the large program that knows it.
//!
//! Most calls only read. A hook runs before each of them, so what answers them is small and asks
//! nobody; for everything else it makes way for the program that can ask.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, io};

use countersign_crisis as crisis;
use countersign_crisis::ScreenOptions;
use countersign_json as json;
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::context::Environment;
use countersign_risk::route::passes_everywhere;
use countersign_risk::verdict::Policy;

use super::input::{self, Unread};
use super::{Spool, USUAL_PATIENCE, ask, several};
use crate::agents::{self, Agent, Answer, Heard, Proposed, Reply};

/// The program that can ask, and the small one before it.
const ASKS: &str = "countersign";
const FIRST: &str = "countersign-hook";
/// What is longer is judged where somebody keeps the time.
const SHORT: usize = 64 << 10;

/// A hook's words, as the installer and our plugins write them: `hook claude --patience 570`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// Which agent, or `plugin`.
    pub host: String,
    /// Whose plugin, or under which name.
    pub agent: Option<String>,
    /// How long the host waits, in seconds.
    pub patience: Option<u32>,
}

impl Words {
    /// Reads them. `None`: they have to be read with care, by somebody who can say what is wrong.
    pub fn read(words: &[&str]) -> Option<Words> {
        let [_, host, rest @ ..] = words else { return None };
        let (agent, rest) = match rest {
            ["--agent", name, rest @ ..] => (Some((*name).to_owned()), rest),
            rest => (None, rest),
        };
        let patience = match rest {
            [] => None,
            ["--patience", seconds] => Some(seconds.parse().ok()?),
            _ => return None,
        };
        let plain = !host.starts_with('-') && agent.as_deref().is_none_or(|a| !a.starts_with('-'));
        plain.then(|| Words { host: (*host).to_owned(), agent, patience })
    }

    /// Whose hook it is, and the name that people see; the agent's name that nobody knows.
    pub fn whose(&self) -> Result<(&'static Agent, String), String> {
        let (host, name) = match (self.host.as_str(), &self.agent) {
            ("plugin", Some(name)) => (name, name),
            (_, Some(name)) => (&self.host, name),
            (_, None) => (&self.host, &self.host),
        };
        let agent = agents::named(host).ok_or_else(|| host.clone())?;
        Ok((agent, name.clone()))
    }

    /// The same words with what is left of the host's patience: a second at least.
    pub fn written(&self, left: Duration) -> Vec<String> {
        let mut words = vec!["hook".to_owned(), self.host.clone()];
        words.extend(self.agent.iter().flat_map(|name| ["--agent".to_owned(), name.clone()]));
        words.extend(["--patience".to_owned(), left.as_secs().max(1).to_string()]);
        words
    }

    /// How long the host waits.
    pub fn patience(&self) -> Duration {
        self.patience.map_or(USUAL_PATIENCE, |seconds| Duration::from_secs(seconds.into()))
    }
}

/// A hook as far as it needs nobody.
#[derive(Clone)]
pub struct Alone {
    /// Whose hook it is.
    pub agent: &'static Agent,
    /// The name that people see.
    pub name: String,
    /// Where calls are written down that passed.
    pub spool: Spool,
}

/// What came of a hook that asked nobody.
pub enum First {
    /// This is the answer.
    Said(Reply),
    /// Somebody has to be asked, or it was not understood: here is what the host said.
    NotAlone(Vec<u8>),
}

impl Alone {
    /// Answers one event in time, or hands it on as it came.
    pub fn first(&self, from: impl std::os::fd::AsFd, patience: Duration) -> First {
        let no = |answer| First::Said((self.agent.reply)(&answer));
        let bytes = match input::read(from, Instant::now() + patience) {
            Ok(bytes) => bytes,
            Err(unread) => return no(unread.no()),
        };
        // A thread that keeps the time would cost more than the answer. What is short is judged in
        // no time; the rest is for the program that has one.
        if bytes.len() > SHORT {
            return First::NotAlone(bytes);
        }
        let answer = match understand(self.agent, &bytes) {
            Ok(heard) => self.answer(&heard),
            Err(answer) => return no(answer),
        };
        answer.map_or(First::NotAlone(bytes), no)
    }

    /// What needs nobody: `None` where somebody has to be asked or told.
    pub fn answer(&self, heard: &Heard) -> Option<Answer> {
        match heard {
            Heard::Before(call) => self.passes(call).then_some(Answer::Pass),
            Heard::Batch(calls) => {
                // All of them first: what is handed on must not be written down twice.
                let pass = calls.iter().all(is_harmless)
                    && calls.iter().all(|call| self.is_written_down(call));
                let answers = vec![Answer::Pass; calls.len()];
                pass.then(|| Answer::Planned { stages: several::stages(calls), answers })
            }
            Heard::After(ran) => is_harmless(&ran.call).then_some(Answer::Noted),
            Heard::Message { text, .. } => {
                let seen = crisis::screen(text, &ScreenOptions::default());
                (!seen.crisis).then_some(Answer::Card(None))
            }
        }
    }

    /// What is said where nobody can be asked: no; and to a person in crisis what helps.
    pub fn last_word(&self, bytes: &[u8], why: &str) -> Reply {
        let answer = match understand(self.agent, bytes) {
            Ok(Heard::Message { text, .. }) => {
                let seen = crisis::screen(&text, &ScreenOptions::default());
                Answer::Card(seen.card.map(|card| card.text))
            }
            Ok(Heard::After(_)) => Answer::Noted,
            _ => Answer::Denied(ask::absent(why)),
        };
        (self.agent.reply)(&answer)
    }

    /// Whether a call may run though nobody was asked.
    pub fn passes(&self, call: &Proposed) -> bool {
        is_harmless(call) && self.is_written_down(call)
    }

    /// Whether the call is in the spool now, from where it gets into the ledger.
    fn is_written_down(&self, call: &Proposed) -> bool {
        self.spool.keep(&self.name, call).is_ok()
    }
}

/// What the host said, or the no that it gets for it.
pub fn understand(agent: &Agent, bytes: &[u8]) -> Result<Heard, Answer> {
    let value = json::parse_bytes(bytes)
        .map_err(|error| Unread::Other(format!("the hook's input is no JSON: {error}")).no())?;
    (agent.read)(&value).map_err(|error| {
        Unread::Other(format!("the hook's input was not understood: {error}")).no()
    })
}

/// Whether a call may pass without the daemon: judged as on a production machine, so that no
/// setting of the daemon could judge it harder.
fn is_harmless(proposed: &Proposed) -> bool {
    let Ok(text) = serde_json::to_string(&proposed.tool) else { return false };
    let text = format!("{{\"tool\":{text},\"arguments\":{}}}", proposed.arguments);
    let Ok(value) = json::parse(&text) else { return false };
    let Ok(mut call) = Call::from_json(&value) else { return false };
    call.context.cwd = proposed.cwd.as_deref();
    call.context.environment = Environment::Production;
    passes_everywhere(&assess(&call, &Policy::default()))
}

/// The program that can ask, where this one cannot.
pub fn asking_program() -> io::Result<PathBuf> {
    env::current_exe().map(|here| asks(&here))
}

/// The program that can ask: this one, or the one beside the small one.
pub fn asks(program: &Path) -> PathBuf {
    // Linux adds a word to the name of a program that was replaced while it ran.
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let first = name.split(' ').next() == Some(FIRST);
    if first { program.with_file_name(ASKS) } else { program.to_owned() }
}

/// Where the small program is, if there is one, beside this one.
pub fn first_program(asks: &Path) -> PathBuf {
    asks.with_file_name(FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_read_without_care() {
        let read = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            Words::read(&words).map(|found| (found.host, found.agent, found.patience))
        };
        let claude = Some(("claude".to_owned(), None, Some(570)));
        assert_eq!(read("hook claude --patience 570"), claude);
        assert_eq!(read("hook claude"), Some(("claude".to_owned(), None, None)));
        let plugin = Some(("plugin".to_owned(), Some("hermes".to_owned()), Some(5)));
        assert_eq!(read("hook plugin --agent hermes --patience 5"), plugin);
        for other in [
            "hook",
            "hook --help",
            "hook --patience 570 claude",
            "hook claude --patience soon",
            "hook claude --patience 5 more",
            "hook plugin --agent",
            "hook plugin --agent --patience 5",
            "hook drain --spool x",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
