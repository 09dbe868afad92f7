//! The threads that speak with the daemon, so that no key ever waits for it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use countersign_client::{Choice, Error, Filter, GrantWish, People, Request, State};

use super::event::{Answer, Effect, Event, Link};
use super::keys::MOST_AT_ONCE;
use crate::core_api;

/// Between two tries to reach the daemon again.
const PAUSE: Duration = Duration::from_secs(1);
/// So many are listed.
const MOST: usize = 2000;

/// What the screen is told.
pub enum Told {
    /// Something happened.
    Event(Event),
    /// The terminal was written to, or changed.
    Input(ratatui::crossterm::event::Event),
    /// Somebody wants us to stop.
    Stop,
    /// It cannot go on; why.
    Over(String),
}

/// Where effects go.
pub struct Wires {
    cards: Sender<String>,
    answers: Sender<Effect>,
}

impl Wires {
    /// Starts to listen, and to work.
    pub fn open(people: &People, told: &Sender<Told>) -> Wires {
        let (cards, wanted) = channel();
        let (answers, given) = channel();
        let start = |work: Box<dyn FnOnce(People, Sender<Told>) + Send>| {
            let (people, told) = (people.clone(), told.clone());
            thread::spawn(move || work(people, told));
        };
        start(Box::new(|people, told| listen(&people, &told)));
        start(Box::new(move |people, told| fetch(&people, &wanted, &told)));
        start(Box::new(move |people, told| answer(&people, &given, &told)));
        Wires { cards, answers }
    }

    /// Does it, in its own time.
    pub fn carry(&self, effect: Effect) {
        // Threads end with the program; if one is gone, the screen says so by itself.
        let _ = match effect {
            Effect::Fetch(id) => self.cards.send(id).is_ok(),
            other => self.answers.send(other).is_ok(),
        };
    }
}

/// Follows what happens, for as long as somebody wants to know.
fn listen(people: &People, told: &Sender<Told>) {
    loop {
        let why = match follow(people, told) {
            Ok(()) => "the connection ended".to_owned(),
            Err(error @ (Error::Unauthorized(_) | Error::Forbidden(_))) => {
                let _ = told.send(Told::Over(format!("your login has ended: {}", why(&error))));
                return;
            }
            Err(error) => why(&error),
        };
        if told.send(Told::Event(Event::Link(Link::Down(why)))).is_err() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn follow(people: &People, told: &Sender<Told>) -> Result<(), Error> {
    let mut events = people.events()?;
    // After the stream is open, so that nothing is missed in between.
    let list = waiting(people)?;
    let tell = |event| told.send(Told::Event(event)).is_ok();
    let mut heard = tell(Event::Link(Link::Up)) && tell(Event::Listed(list));
    while heard {
        let Some(event) = events.next_event()? else { break };
        let request = serde_json::from_str::<Request>(&event.data).ok();
        heard = match (event.name.as_str(), request) {
            ("settings", _) => true,
            ("asked" | "voted" | "climbed" | "ended", Some(request)) => {
                tell(Event::Changed(Box::new(request)))
            }
            // What is not understood is looked at.
            _ => tell(Event::Listed(waiting(people)?)),
        };
    }
    Ok(())
}

/// Everything that waits, page by page.
pub fn waiting(people: &People) -> Result<Vec<Request>, Error> {
    let state = Some(State::Pending);
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

/// Gets cards; only the newest wish counts.
fn fetch(people: &People, wanted: &Receiver<String>, told: &Sender<Told>) {
    while let Ok(mut id) = wanted.recv() {
        while let Ok(newer) = wanted.try_recv() {
            id = newer;
        }
        let answer = people.show(&id).map(Box::new).map_err(|error| why(&error));
        if told.send(Told::Event(Event::Fetched(id, answer))).is_err() {
            return;
        }
    }
}

/// Sends answers, one after the other.
fn answer(people: &People, given: &Receiver<Effect>, told: &Sender<Told>) {
    while let Ok(effect) = given.recv() {
        let event = match effect {
            Effect::Answer(answer) => decide(people, answer),
            Effect::DenyAll(list) => deny_all(people, &list),
            Effect::Here => {
                // Nothing depends on it: phones only ring a little earlier.
                let _ = people.here();
                continue;
            }
            Effect::Fetch(_) | Effect::Leave => continue,
        };
        if told.send(Told::Event(event)).is_err() {
            return;
        }
    }
}

fn decide(people: &People, answer: Answer) -> Event {
    let wish = GrantWish { shape: "exact", scope: "session", minutes: None };
    let wish = answer.for_session.then_some(&wish);
    let after = people.decide(&answer.id, &answer.digest, answer.choice, &answer.reason, wish);
    let after = after.map(Box::new).map_err(|error| why(&error));
    Event::Answered(answer.id, answer.choice, after)
}

fn deny_all(people: &People, list: &[(String, String)]) -> Event {
    let (mut denied, mut wrong, mut drill) = (0, None, None);
    for part in list.chunks(MOST_AT_ONCE) {
        match people.decide_several(part, Choice::Deny, "") {
            Ok(results) => {
                for result in results {
                    drill = drill.or(result.drill.map(|drill| core_api::show(&drill.words, 1000)));
                    match result.problem {
                        None => denied += 1,
                        Some(problem) => wrong = Some(core_api::show(&problem.detail, 400)),
                    }
                }
            }
            Err(error) => wrong = Some(why(&error)),
        }
    }
    Event::DeniedAll(list.iter().map(|(id, _)| id.clone()).collect(), denied, wrong, drill)
}

/// What went wrong, safe to show.
pub fn why(error: &Error) -> String {
    if error.problem().is_some_and(|problem| problem.name() == "passkey") {
        return "this needs a passkey: answer it in the inbox in your browser".to_owned();
    }
    let sent = matches!(error, Error::Unreachable { sent: true, .. });
    let more = if sent { " (it may have arrived: see how it stands)" } else { "" };
    format!("{}{more}", core_api::show(&error.to_string(), 400))
}
