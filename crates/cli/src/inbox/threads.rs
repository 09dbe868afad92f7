//! The threads that talk to the daemon, so that no key waits for it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use countersign_client::{
    DecisionAnswer, DecisionChoice, Error, Filter, PeopleClient, RequestRecord, RequestStatus,
};

use super::event::{InboxEffect, InboxEvent, Link, SentAnswer};
use super::keys::MOST_AT_ONCE;
use crate::engine;

/// The pause between two attempts to reconnect.
const PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of listed requests.
const MOST: usize = 2000;

/// A message to the screen.
pub enum UiMessage {
    /// An event of the inbox.
    Event(InboxEvent),
    /// The terminal has input or was resized.
    Input(ratatui::crossterm::event::Event),
    /// A signal to stop.
    Stop,
    /// The inbox cannot continue; why.
    Over(String),
}

/// Where effects are sent.
pub struct DaemonThreads {
    cards: Sender<String>,
    answers: Sender<InboxEffect>,
}

impl DaemonThreads {
    /// Starts the threads.
    pub fn open(people: &PeopleClient, told: &Sender<UiMessage>) -> DaemonThreads {
        let (cards, wanted) = channel();
        let (answers, given) = channel();
        let start = |work: Box<dyn FnOnce(PeopleClient, Sender<UiMessage>) + Send>| {
            let (people, told) = (people.clone(), told.clone());
            thread::spawn(move || work(people, told));
        };
        start(Box::new(|people, told| listen(&people, &told)));
        start(Box::new(move |people, told| fetch(&people, &wanted, &told)));
        start(Box::new(move |people, told| answer(&people, &given, &told)));
        DaemonThreads { cards, answers }
    }

    /// Runs an effect on its thread.
    pub fn carry(&self, effect: InboxEffect) {
        // Threads end with the program; if one is gone, the screen reports it.
        let _ = match effect {
            InboxEffect::Fetch(id) => self.cards.send(id).is_ok(),
            other => self.answers.send(other).is_ok(),
        };
    }
}

/// Follows the events of the daemon.
fn listen(people: &PeopleClient, told: &Sender<UiMessage>) {
    loop {
        let why = match follow(people, told) {
            Ok(()) => "connection closed".to_owned(),
            Err(error @ (Error::Unauthorized(_) | Error::Forbidden(_))) => {
                let _ = told
                    .send(UiMessage::Over(format!("your session has expired: {}", why(&error))));
                return;
            }
            Err(error) => why(&error),
        };
        if told.send(UiMessage::Event(InboxEvent::Link(Link::Down(why)))).is_err() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn follow(people: &PeopleClient, told: &Sender<UiMessage>) -> Result<(), Error> {
    let mut events = people.events()?;
    // After the stream is open, so that nothing is missed in between.
    let list = waiting(people)?;
    let tell = |event| told.send(UiMessage::Event(event)).is_ok();
    let mut heard = tell(InboxEvent::Link(Link::Up)) && tell(InboxEvent::Listed(list));
    while heard {
        let Some(event) = events.next_event()? else { break };
        let request = serde_json::from_str::<RequestRecord>(&event.data).ok();
        heard = match (event.name.as_str(), request) {
            ("settings", _) => true,
            ("asked" | "voted" | "opinion" | "escalated" | "ended", Some(request)) => {
                tell(InboxEvent::Changed(Box::new(request)))
            }
            // An unknown event reloads the list.
            _ => tell(InboxEvent::Listed(waiting(people)?)),
        };
    }
    Ok(())
}

/// All pending requests, page by page.
pub fn waiting(people: &PeopleClient) -> Result<Vec<RequestRecord>, Error> {
    let state = Some(RequestStatus::Pending);
    let mut filter = Filter { state, limit: Some(500), ..Filter::default() };
    let mut list = Vec::new();
    while list.len() < MOST {
        let page = people.list(&filter)?;
        list.extend(page.requests);
        filter.before = page.next;
        if filter.before.is_none() {
            break;
        }
    }
    Ok(list)
}

/// Loads cards; only the newest request counts.
fn fetch(people: &PeopleClient, wanted: &Receiver<String>, told: &Sender<UiMessage>) {
    while let Ok(mut id) = wanted.recv() {
        while let Ok(newer) = wanted.try_recv() {
            id = newer;
        }
        let answer = people.show(&id).map(Box::new).map_err(|error| why(&error));
        if told.send(UiMessage::Event(InboxEvent::Fetched(id, answer))).is_err() {
            return;
        }
    }
}

/// Sends answers, one after the other.
fn answer(people: &PeopleClient, given: &Receiver<InboxEffect>, told: &Sender<UiMessage>) {
    while let Ok(effect) = given.recv() {
        let event = match effect {
            InboxEffect::Answer(answer) => decide(people, answer),
            InboxEffect::DenyAll(list) => deny_all(people, &list),
            InboxEffect::Freeze => {
                InboxEvent::Frozen(people.freeze().map(|_| ()).map_err(|error| why(&error)))
            }
            InboxEffect::Here => {
                // A lost presence report only makes phones ring a little earlier.
                let _ = people.report_presence();
                continue;
            }
            InboxEffect::Fetch(_) | InboxEffect::Leave => continue,
        };
        if told.send(UiMessage::Event(event)).is_err() {
            return;
        }
    }
}

fn decide(people: &PeopleClient, answer: SentAnswer) -> InboxEvent {
    let (digest, reason, word) = (&*answer.digest, &*answer.reason, &*answer.word);
    let given = DecisionAnswer {
        choice: answer.choice,
        scope: answer.scope,
        digest,
        reason,
        word,
        grant: None,
        segments: &[],
    };
    let after = people.decide(&answer.id, &given);
    let after = after.map(Box::new).map_err(|error| why(&error));
    InboxEvent::Answered(answer.id, answer.choice, after)
}

fn deny_all(people: &PeopleClient, list: &[(String, String)]) -> InboxEvent {
    let (mut denied, mut wrong, mut drill) = (0, None, None);
    for part in list.chunks(MOST_AT_ONCE) {
        match people.decide_batch(part, DecisionChoice::Deny, "") {
            Ok(results) => {
                for result in results {
                    drill =
                        drill.or(result.drill.map(|drill| engine::sanitize(&drill.words, 1000)));
                    match result.problem {
                        None => denied += 1,
                        Some(problem) => wrong = Some(engine::sanitize(&problem.detail, 400)),
                    }
                }
            }
            Err(error) => wrong = Some(why(&error)),
        }
    }
    InboxEvent::DeniedAll(list.iter().map(|(id, _)| id.clone()).collect(), denied, wrong, drill)
}

/// The error, sanitized.
pub fn why(error: &Error) -> String {
    if error.problem().is_some_and(|problem| problem.name() == "passkey") {
        return "this request requires a passkey; decide it in the web inbox".to_owned();
    }
    let sent = matches!(error, Error::Unreachable { sent: true, .. });
    let more = if sent { " (the answer may have arrived; check the request)" } else { "" };
    format!("{}{more}", engine::sanitize(&error.to_string(), 400))
}
