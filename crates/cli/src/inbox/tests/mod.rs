//! The inbox without a terminal: a bench that plays the daemon, the screen and the person.

mod answers;
mod drawing;
mod list;

use countersign_client::{DecisionChoice, RequestRecord, Time};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::draw::draw;
use super::event::{Drawn, InboxEffect, InboxEvent, InputKey, Link, SentAnswer, UiTime};
use super::state::Inbox;
use super::style::Palette;
use crate::engine;
use countersign_risk::card::Card;

/// When the requests of these tests were asked, in milliseconds.
const ASKED: i64 = 1_794_700_000_000;

/// A request for a command, as the daemon tells it, with its card.
fn request(number: usize, command: &str, tier: &str) -> RequestRecord {
    let call = engine::Call::shell(command);
    let text = serde_json::json!({ "command": command }).to_string();
    let seen = engine::assess(&call);
    let digest = engine::call_digest(&call, &text);
    let card = Card::new(&call, &seen, &digest);
    let document = serde_json::json!({
        "id": format!("01hf3zq9x8y7w6v5t4s3r2{number:04}"), "state": "pending", "decision": null,
        "tool": "bash", "brief": card.brief, "tier": tier, "phrase": card.phrase,
        "digest": card.digest, "raw_digest": card.raw_digest, "both_bind": card.both_bind,
        "agent": "hermes", "session": "chat-7", "session_scope": tier != "CRITICAL",
        "group": null, "crisis": false,
        "created": Time::from_millis(ASKED), "deadline": Time::from_millis(ASKED + 300_000),
        "level": "first", "quorum": { "approve": 1, "deny": 1 }, "approvals": 0,
        "description": "the release we spoke of", "card": card,
    });
    serde_json::from_value(document).unwrap()
}

/// The same, answered.
fn ended(request: &RequestRecord, state: &str) -> RequestRecord {
    let mut document = serde_json::to_value(request).unwrap();
    document["state"] = state.into();
    document["decision"] = serde_json::json!({
        "result": state, "by": { "kind": "people", "people": ["ana"] }, "channel": "web",
        "reason": "as agreed", "at": Time::from_millis(ASKED + 60_000),
    });
    serde_json::from_value(document).unwrap()
}

/// An inbox, its screen and its time.
struct Bench {
    inbox: Inbox,
    screen: Terminal<TestBackend>,
    look: Palette,
    /// Not drawn: the whole card is said to have been on the screen.
    blind: bool,
    steady: u64,
    known: Vec<RequestRecord>,
    effects: Vec<InboxEffect>,
}

impl Bench {
    fn new(width: u16, height: u16, waiting: &[RequestRecord]) -> Bench {
        let screen = Terminal::new(TestBackend::new(width, height)).unwrap();
        let inbox = Inbox::new(moment(0));
        let look = Palette { colour: true };
        let (known, effects) = (Vec::new(), Vec::new());
        let mut bench = Bench { inbox, screen, look, blind: false, steady: 0, known, effects };
        bench.tell(InboxEvent::Link(Link::Up));
        bench.known = waiting.to_vec();
        bench.tell(InboxEvent::Listed(waiting.to_vec()));
        bench.wait(1000);
        bench
    }

    /// Something happens; cards that are asked for come at once, and then it is drawn.
    fn tell(&mut self, event: InboxEvent) {
        let mut effects = self.inbox.apply(event, moment(self.steady));
        while let Some(effect) = effects.pop() {
            if let InboxEffect::Fetch(id) = &effect {
                let known = self.known.iter().find(|one| one.id.as_deref() == Some(id.as_str()));
                let answer = known.cloned().map(Box::new).ok_or("gone".to_owned());
                let told = InboxEvent::Fetched(id.clone(), answer);
                effects.extend(self.inbox.apply(told, moment(self.steady)));
            } else {
                self.effects.push(effect);
            }
        }
        self.draw();
    }

    fn draw(&mut self) {
        if self.blind {
            let id = self.inbox.list.current().map(|entry| entry.id.clone());
            let drawn = Drawn { id, lines: 9, page: 20, call_end: 4, rows: 6, ..Drawn::default() };
            self.inbox.apply(InboxEvent::Drawn(drawn), moment(self.steady));
            return;
        }
        for _ in 0..2 {
            let mut drawn = None;
            self.screen.draw(|f| drawn = Some(draw(f, &self.inbox, self.look))).unwrap();
            self.inbox.apply(InboxEvent::Drawn(drawn.unwrap()), moment(self.steady));
        }
    }

    fn asked(&mut self, request: &RequestRecord) {
        self.known.push(request.clone());
        self.tell(InboxEvent::Changed(Box::new(request.clone())));
    }

    fn wait(&mut self, millis: u64) {
        self.steady += millis;
        self.tell(InboxEvent::Tick);
    }

    fn key(&mut self, key: InputKey) {
        self.steady += 5;
        self.tell(InboxEvent::Key(key));
    }

    fn press(&mut self, text: &str) {
        for letter in text.chars() {
            self.key(if letter == '\n' { InputKey::Enter } else { InputKey::Char(letter) });
        }
    }

    /// What was answered, in order.
    fn answers(&self) -> Vec<&SentAnswer> {
        let answer = |effect: &'_ InboxEffect| matches!(effect, InboxEffect::Answer(_));
        let found = self.effects.iter().filter(|effect| answer(effect));
        found
            .filter_map(|e| if let InboxEffect::Answer(answer) = e { Some(answer) } else { None })
            .collect()
    }

    fn approvals(&self) -> usize {
        self.answers().iter().filter(|answer| answer.choice == DecisionChoice::Approve).count()
    }

    fn buffer(&self) -> &Buffer {
        self.screen.backend().buffer()
    }

    /// What is on the screen.
    fn text(&self) -> String {
        let buffer = self.buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            for x in 0..buffer.area.width {
                text.push_str(buffer[(x, y)].symbol());
            }
            text.push('\n');
        }
        text
    }

    fn shows(&self, what: &str) -> bool {
        self.text().contains(what)
    }
}

fn moment(steady: u64) -> UiTime {
    let wall = ASKED + 30_000 + i64::try_from(steady).unwrap();
    UiTime { wall: Time::from_millis(wall), steady }
}
