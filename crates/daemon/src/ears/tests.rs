//! What people say through a channel, against a channel that only says what it is told.

use std::sync::Arc;

use countersign_channels::{
    Announcement, Channel, ChannelFuture, PersonReply, Receipt, ReplyContent, ReplyReceiver,
    RequestRef,
};
use countersign_store::{AttemptResult, DeliveryAttempt, SqliteOptions, Store as _, StoredRequest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_workflow::assurance::Assurance;
use countersign_workflow::request::{Choice, State};

use super::understood;
use crate::buttons::Named;
use crate::courier::Line;
use crate::trial::{AGENT, FLOOD, Trial, trial_on};

#[derive(Debug)]
struct Mock {
    whole: bool,
    assurance: Assurance,
}

impl Channel for Mock {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn max_tier(&self) -> Tier {
        Tier::Critical
    }

    fn announce<'a>(&'a self, _news: &'a Announcement) -> ChannelFuture<'a, Receipt> {
        Box::pin(async { Ok(Receipt::default()) })
    }

    fn withdraw<'a>(
        &'a self,
        _prompt: Option<&'a Receipt>,
        _end: &'a Announcement,
    ) -> ChannelFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn reply_receiver(&self) -> Option<&dyn ReplyReceiver> {
        Some(self)
    }
}

impl ReplyReceiver for Mock {
    fn assurance(&self) -> Assurance {
        self.assurance
    }

    fn shows_whole_call(&self, news: &Announcement) -> bool {
        self.whole && !news.call.is_empty()
    }

    fn reply<'a>(&'a self, _word: &'a PersonReply, _reply: &'a str) -> ChannelFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

fn line(whole: bool, assurance: Assurance, approves: Tier) -> Arc<Line> {
    let mut limits = countersign_channels::ChannelSettings::usual("telegram");
    limits.approves = approves;
    Arc::new(Line::new(Arc::new(Mock { whole, assurance }), limits))
}

fn linked() -> Arc<Line> {
    line(true, Assurance::Linked, Tier::High)
}

fn word(account: &str, said: ReplyContent) -> PersonReply {
    PersonReply {
        account: account.to_owned(),
        display_name: "Ana \u{202e}nimda".to_owned(),
        content: said,
        key: "1".to_owned(),
        reply_to: String::new(),
    }
}

fn which(name: &str) -> RequestRef {
    RequestRef { name: name.to_owned(), reason: String::new() }
}

/// A house in which account 77 is ana's.
async fn house() -> Trial {
    // Who is denied often may ask on: this is about who answers.
    let trial = trial_on(&format!("{FLOOD}denials = 100000\n"), SqliteOptions::default()).await;
    let now = countersign_types::time::Clock::now(trial.gate.clock()).at;
    let (code, _) = trial.api.links.offer("mock", "ana", now).unwrap();
    let said = understood(&trial.api, &linked(), &word("77", ReplyContent::Link(code))).await;
    assert!(said.contains("as ana"), "{said}");
    trial
}

/// A request that was sent through the channel.
async fn asked(trial: &Trial, command: &str) -> StoredRequest {
    let body = serde_json::json!({ "tool": "shell", "arguments": { "command": command } });
    let asked = trial.agent(AGENT, "/v1/requests", &body.to_string()).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    let id = Id::parse(asked.json()["id"].as_str().unwrap()).unwrap();
    let store = trial.gate.store();
    let outbox = store.outbox(0, 500).await.unwrap();
    let seq = outbox.iter().find(|outgoing| outgoing.request == id).unwrap().seq;
    let result = AttemptResult::Delivered("m1".to_owned());
    let attempt = DeliveryAttempt { seq, channel: "mock".to_owned(), result, done: true };
    store.record_attempt(attempt, trial.api.note()).await.unwrap();
    store.request(id).await.unwrap().unwrap()
}

async fn state(trial: &Trial, asked: &StoredRequest) -> State {
    trial.gate.store().request(asked.request.id).await.unwrap().unwrap().request.state
}

fn button(trial: &Trial, asked: &StoredRequest, choice: Choice) -> ReplyContent {
    let request = &asked.request;
    let named = Named { channel: "mock", request: request.id, digest: &request.digest };
    ReplyContent::Button(trial.api.buttons.write(choice, named))
}

const HIGH: &str = "git push --force origin main";
const CRITICAL: &str = "rm -rf /";

#[tokio::test]
async fn a_linked_persons_tap_decides() {
    let trial = house().await;
    let yes = asked(&trial, HIGH).await;
    let tap = word("77", button(&trial, &yes, Choice::Approve));
    assert!(understood(&trial.api, &linked(), &tap).await.starts_with("Approved."));
    assert_eq!(state(&trial, &yes).await, State::Approved);
    let again = understood(&trial.api, &linked(), &tap).await;
    assert!(again.contains("approved already"), "{again}");
    let no = asked(&trial, CRITICAL).await;
    let tap = word("77", button(&trial, &no, Choice::Deny));
    assert!(understood(&trial.api, &linked(), &tap).await.starts_with("Denied."));
    assert_eq!(state(&trial, &no).await, State::Denied);
}

#[tokio::test]
async fn a_strangers_word_counts_for_nothing() {
    let trial = house().await;
    let open = asked(&trial, HIGH).await;
    for said in [
        button(&trial, &open, Choice::Approve),
        button(&trial, &open, Choice::Deny),
        ReplyContent::Approve(which(&open.request.id.to_string())),
        ReplyContent::Pending,
        ReplyContent::Link("WRONGCOD".to_owned()),
    ] {
        let heard = understood(&trial.api, &linked(), &word("78", said.clone())).await;
        let nothing = heard.contains("linked to nobody") || heard.contains("code is wrong");
        assert!(nothing && !heard.contains("git"), "{said:?}: {heard}");
    }
    assert_eq!(state(&trial, &open).await, State::Pending);
}

#[tokio::test]
async fn a_forged_button_counts_for_nothing() {
    let trial = house().await;
    let (open, other) = (asked(&trial, HIGH).await, asked(&trial, "git push -f").await);
    let ReplyContent::Button(good) = button(&trial, &open, Choice::Deny) else { panic!() };
    let ReplyContent::Button(others) = button(&trial, &other, Choice::Approve) else { panic!() };
    let proof = |text: &str| text.rsplit_once(':').unwrap().1.to_owned();
    let request = open.request.id;
    for forged in [
        good.replacen('d', "a", 1),
        format!("a:{request}:{}", proof(&others)),
        format!("a:{request}:AAAAAAAAAAAA"),
        format!("a:{request}:"),
        format!("a:{request}"),
        "a:00000000000000000000000000:AAAAAAAAAAAA".to_owned(),
        String::new(),
    ] {
        let said = ReplyContent::Button(forged.clone());
        let heard = understood(&trial.api, &linked(), &word("77", said)).await;
        assert!(heard.contains("not one of ours"), "{forged}: {heard}");
    }
    assert_eq!(state(&trial, &open).await, State::Pending);
}

#[tokio::test]
async fn what_is_not_shown_whole_or_not_sent_is_not_approved_here() {
    let trial = house().await;
    let open = asked(&trial, HIGH).await;
    let cut = line(false, Assurance::Linked, Tier::High);
    let tap = word("77", button(&trial, &open, Choice::Approve));
    let heard = understood(&trial.api, &cut, &tap).await;
    assert!(heard.contains("not shown whole"), "{heard}");
    // Never sent through this channel: nobody can have read it there.
    let body = serde_json::json!({ "tool": "shell", "arguments": { "command": "git push -f x" } });
    let unsent = trial.agent(AGENT, "/v1/requests", &body.to_string()).await.json();
    let id = unsent["id"].as_str().unwrap();
    let heard =
        understood(&trial.api, &linked(), &word("77", ReplyContent::Approve(which(id)))).await;
    assert!(heard.contains("not asked here"), "{heard}");
    assert_eq!(state(&trial, &open).await, State::Pending);
    // Only our message has the button: it counts before it is written down that it arrived.
    let unsent = trial.gate.store().request(Id::parse(id).unwrap()).await.unwrap().unwrap();
    let quick = word("77", button(&trial, &unsent, Choice::Approve));
    understood(&trial.api, &linked(), &quick).await;
    assert_eq!(state(&trial, &unsent).await, State::Approved);
}

#[tokio::test]
async fn every_tier_channel_and_assurance_follows_the_table() {
    let trial = house().await;
    let tiers =
        [("systemctl restart nginx", Tier::Medium), (HIGH, Tier::High), (CRITICAL, Tier::Critical)];
    let mut number = 0;
    for (command, tier) in tiers {
        for approves in [Tier::Safe, Tier::Low, Tier::Medium, Tier::High] {
            for assurance in [Assurance::Reached, Assurance::Linked] {
                number += 1;
                let open = asked(&trial, &format!("{command} # {number}")).await;
                assert_eq!(open.request.tier, tier, "{command}");
                let way = line(true, assurance, approves);
                let said = ReplyContent::Approve(RequestRef {
                    name: open.request.id.to_string(),
                    reason: "it is fine".to_owned(),
                });
                let heard = understood(&trial.api, &way, &word("77", said)).await;
                let may = assurance == Assurance::Linked && tier <= approves;
                let wanted = if may { State::Approved } else { State::Pending };
                assert_eq!(state(&trial, &open).await, wanted, "{tier:?} {heard}");
                let no = word("77", ReplyContent::Deny(which(&open.request.id.to_string())));
                understood(&trial.api, &way, &no).await;
                let wanted = if may { State::Approved } else { State::Denied };
                assert_eq!(state(&trial, &open).await, wanted);
            }
        }
    }
}

#[tokio::test]
async fn words_name_a_request_or_nothing() {
    let trial = house().await;
    let open = asked(&trial, HIGH).await;
    let say = async |said| understood(&trial.api, &linked(), &word("77", said)).await;
    assert!(say(ReplyContent::Pending).await.contains("1 is waiting"));
    assert!(say(ReplyContent::Approve(which(""))).await.contains("Which one?"));
    assert!(say(ReplyContent::Approve(which("no-such"))).await.contains("No waiting request"));
    assert_eq!(state(&trial, &open).await, State::Pending);
    let phrase = countersign_risk::word_pair::phrase(&open.request.digest.canonical).to_string();
    assert!(say(ReplyContent::Approve(which(&phrase))).await.starts_with("Approved."));
    let only = asked(&trial, "git push -f y").await;
    assert!(say(ReplyContent::Deny(which(""))).await.starts_with("Denied."));
    assert_eq!(state(&trial, &only).await, State::Denied);
    assert!(say(ReplyContent::Pending).await.contains("Nothing is waiting"));
}

#[tokio::test]
async fn what_people_call_themselves_draws_nothing() {
    let trial = house().await;
    let accounts = trial.gate.store().accounts().await.unwrap();
    assert!(!accounts[0].called.contains('\u{202e}'), "{accounts:?}");
}

#[tokio::test]
async fn a_drill_is_answered_like_any_other_and_then_says_what_it_was() {
    let trial = house().await;
    asked(&trial, "scp notes.txt ana@203.0.113.9:").await;
    for choice in [Choice::Deny, Choice::Approve] {
        let drill = crate::drills::order(&trial.gate).await.unwrap();
        let critical = drill.request.tier == Tier::Critical;
        let waiting = understood(&trial.api, &linked(), &word("77", ReplyContent::Pending)).await;
        assert!(waiting.starts_with("2 are waiting") && !waiting.contains("drill"), "{waiting}");
        let tap = word("77", button(&trial, &drill, choice));
        let heard = understood(&trial.api, &linked(), &tap).await;
        if choice == Choice::Approve && critical {
            assert!(heard.starts_with("Nothing was decided"), "{heard}");
            continue;
        }
        assert!(heard.starts_with("This was a drill: coder asked for nothing"), "{heard}");
    }
}
