//! What people say through a channel, against a channel that only says what it is told.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use countersign_channels::{
    Announcement, Channel, ChannelFuture, PersonReply, Receipt, ReplyContent, ReplyReceiver,
    RequestRef,
};
use countersign_json::base64;
use countersign_risk::word_pair::word_pair;
use countersign_store::{
    AttemptResult, DeliveryAttempt, EditRecord, SqliteOptions, Store as _, StoredPerson,
    StoredRequest, WriteContext,
};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_workflow::assurance::{Assurance, Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{ApprovalScope, Choice, EditedCall, Event, Quorum, State};
use tower_service::Service as _;

use super::handle::handle_message;
use crate::api::STEP_UP;
use crate::auth::step_up_proof;
use crate::buttons::ButtonTarget;
use crate::listeners::Peer;
use crate::notifier::OpenChannel;
use crate::notifier::test_notifier::{ReceiverBehavior, WebhookReceiver, until};
use crate::passkeys::test_authenticator::TestAuthenticator;
use crate::routes;
use crate::test_gate::{AGENT, FLOOD, PASSPHRASE, PERSON, TestGate, test_gate_with};

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

fn channel_with(whole: bool, assurance: Assurance, approves: Tier) -> Arc<OpenChannel> {
    let mut limits = countersign_channels::ChannelSettings::usual("telegram");
    limits.approves = approves;
    Arc::new(OpenChannel::new(Arc::new(Mock { whole, assurance }), limits))
}

fn linked() -> Arc<OpenChannel> {
    channel_with(true, Assurance::Linked, Tier::High)
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
async fn linked_gate() -> TestGate {
    // Who is denied often may ask on: this is about who answers.
    let gate =
        test_gate_with(&format!("{FLOOD}denials = 100000\n"), SqliteOptions::default()).await;
    let said = link(&gate).await;
    assert!(said.contains("as ana"), "{said}");
    gate
}

/// Links account 77 to ana; returns what the account is told.
async fn link(gate: &TestGate) -> String {
    let now = countersign_types::time::Clock::now(gate.gate.clock()).at;
    let (code, _) = gate.api.inbound().link_codes.issue("mock", "ana", now).unwrap();
    handle_message(gate.api.inbound(), &linked(), &word("77", ReplyContent::Link(code))).await
}

/// A request that was sent through the channel.
async fn asked(gate: &TestGate, command: &str) -> StoredRequest {
    let body = serde_json::json!({ "tool": "shell", "arguments": { "command": command } });
    let asked = gate.agent(AGENT, "/v1/requests", &body.to_string()).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    let id = Id::parse(asked.json()["id"].as_str().unwrap()).unwrap();
    let store = gate.gate.store();
    let outbox = store.outbox(0, 500).await.unwrap();
    let seq = outbox.iter().find(|outgoing| outgoing.request == id).unwrap().seq;
    let result = AttemptResult::Delivered("m1".to_owned());
    let attempt = DeliveryAttempt { seq, channel: "mock".to_owned(), result, done: true };
    store.record_attempt(attempt, gate.gate.note()).await.unwrap();
    store.request(id).await.unwrap().unwrap()
}

async fn state(gate: &TestGate, asked: &StoredRequest) -> State {
    gate.gate.store().request(asked.request.id).await.unwrap().unwrap().request.state
}

fn button(gate: &TestGate, asked: &StoredRequest, choice: Choice) -> ReplyContent {
    let request = &asked.request;
    let named = ButtonTarget { channel: "mock", request: request.id, digest: &request.digest };
    ReplyContent::Button(gate.api.buttons.write(choice, named))
}

const MEDIUM: &str = "systemctl restart nginx";
const HIGH: &str = "git push --force origin main";
const CRITICAL: &str = "rm -rf /";

#[tokio::test]
async fn a_linked_account_decides_with_a_button() {
    let gate = linked_gate().await;
    let yes = asked(&gate, MEDIUM).await;
    let tap = word("77", button(&gate, &yes, Choice::Approve));
    assert!(handle_message(gate.api.inbound(), &linked(), &tap).await.starts_with("Approved."));
    assert_eq!(state(&gate, &yes).await, State::Approved);
    let again = handle_message(gate.api.inbound(), &linked(), &tap).await;
    assert!(again.contains("already approved"), "{again}");
    let no = asked(&gate, CRITICAL).await;
    let tap = word("77", button(&gate, &no, Choice::Deny));
    assert!(handle_message(gate.api.inbound(), &linked(), &tap).await.starts_with("Denied."));
    assert_eq!(state(&gate, &no).await, State::Denied);
}

/// A button of a message from before an edit, and one of the edited call.
#[tokio::test]
async fn a_button_of_the_original_call_does_not_approve_an_edit_of_it() {
    for choice in [Choice::Approve, Choice::Deny] {
        let gate = linked_gate().await;
        let original = asked(&gate, MEDIUM).await;
        let other = asked(&gate, "systemctl restart redis").await;
        let (digest, quorum) = (other.request.digest, Quorum { approve: 2, deny: 1 });
        let tier = Tier::Medium;
        let tenure = Tenure::from(original.request.schedule.created);
        let event = |seen, choice, edited| Event::Answer {
            person: "bo".to_owned(),
            choice,
            scope: ApprovalScope::Once,
            seen,
            edited,
            channel: "web".to_owned(),
            reason: String::new(),
            word: String::new(),
            standing: (Authority::login(false, tenure), RequiredAssurance::default()),
        };
        let edit = EditedCall { digest, tier, crisis: false, quorum, assurance: None };
        let edit = event(original.request.digest, Choice::Approve, Some(edit));
        let record = EditRecord { arguments: "{}".to_owned(), card: other.card.clone() };
        let note = WriteContext { edited: Some(record), ..gate.gate.note() };
        gate.gate.decide(original.request.id, edit, note).await.unwrap();
        let tap = word("77", button(&gate, &original, choice));
        let said = handle_message(gate.api.inbound(), &linked(), &tap).await;
        if choice == Choice::Deny {
            assert_eq!(state(&gate, &original).await, State::Denied, "{said}");
            continue;
        }
        assert!(said.contains("a person edited this call"), "{said}");
        assert_eq!(state(&gate, &original).await, State::Pending);
        // The message of the original does not show the edited call, so its words are not enough.
        let words = word_pair(&digest.canonical).to_string();
        let deny = event(digest, Choice::Deny, None);
        gate.gate.decide(other.request.id, deny, gate.gate.note()).await.unwrap();
        let typed = word("77", ReplyContent::Approve(which(&words)));
        let said = handle_message(gate.api.inbound(), &linked(), &typed).await;
        assert!(said.contains("was not sent to you here"), "{said}");
        let request = original.request.id;
        let named = ButtonTarget { channel: "mock", request, digest: &digest };
        let tap = ReplyContent::Button(gate.api.buttons.write(Choice::Approve, named));
        handle_message(gate.api.inbound(), &linked(), &word("77", tap)).await;
        assert_eq!(state(&gate, &original).await, State::Approved);
    }
}

#[tokio::test]
async fn a_tap_alone_does_not_approve_high() {
    let gate = linked_gate().await;
    let open = asked(&gate, HIGH).await;
    let phrase = word_pair(&open.request.digest.canonical).to_string();
    let id = open.request.id.to_string();
    for said in [
        button(&gate, &open, Choice::Approve),
        ReplyContent::Approve(which(&id)),
        ReplyContent::Approve(RequestRef { name: id.clone(), reason: phrase.clone() }),
    ] {
        let heard = handle_message(gate.api.inbound(), &linked(), &word("77", said.clone())).await;
        assert_eq!(state(&gate, &open).await, State::Pending, "{said:?}: {heard}");
        assert!(heard.contains(&format!("/approve {phrase}")), "{heard}");
    }
    let typed = word("77", ReplyContent::Approve(which(&phrase)));
    assert!(handle_message(gate.api.inbound(), &linked(), &typed).await.starts_with("Approved."));
    // A denial is one tap.
    let other = asked(&gate, "git push -f y").await;
    let tap = word("77", button(&gate, &other, Choice::Deny));
    assert!(handle_message(gate.api.inbound(), &linked(), &tap).await.starts_with("Denied."));
    assert_eq!(state(&gate, &other).await, State::Denied);
}

#[tokio::test]
async fn an_unlinked_account_cannot_answer() {
    let gate = linked_gate().await;
    let open = asked(&gate, HIGH).await;
    for said in [
        button(&gate, &open, Choice::Approve),
        button(&gate, &open, Choice::Deny),
        ReplyContent::Approve(which(&open.request.id.to_string())),
        ReplyContent::Pending,
        ReplyContent::Link("WRONGCOD".to_owned()),
    ] {
        let heard = handle_message(gate.api.inbound(), &linked(), &word("78", said.clone())).await;
        let nothing = heard.contains("not linked to a person") || heard.contains("code is wrong");
        assert!(nothing && !heard.contains("git"), "{said:?}: {heard}");
    }
    assert_eq!(state(&gate, &open).await, State::Pending);
}

#[tokio::test]
async fn a_forged_button_is_rejected() {
    let gate = linked_gate().await;
    let (open, other) = (asked(&gate, HIGH).await, asked(&gate, "git push -f").await);
    let ReplyContent::Button(good) = button(&gate, &open, Choice::Deny) else { panic!() };
    let ReplyContent::Button(others) = button(&gate, &other, Choice::Approve) else { panic!() };
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
        let heard = handle_message(gate.api.inbound(), &linked(), &word("77", said)).await;
        assert!(heard.contains("not one of ours"), "{forged}: {heard}");
    }
    assert_eq!(state(&gate, &open).await, State::Pending);
}

#[tokio::test]
async fn a_call_that_was_not_shown_completely_cannot_be_approved() {
    let gate = linked_gate().await;
    let open = asked(&gate, HIGH).await;
    let cut = channel_with(false, Assurance::Linked, Tier::High);
    let tap = word("77", button(&gate, &open, Choice::Approve));
    let heard = handle_message(gate.api.inbound(), &cut, &tap).await;
    assert!(heard.contains("does not show the whole call"), "{heard}");
    // Never sent through this channel: no one can have read it there.
    let body = serde_json::json!({ "tool": "shell", "arguments": { "command": MEDIUM } });
    let unsent = gate.agent(AGENT, "/v1/requests", &body.to_string()).await.json();
    let id = unsent["id"].as_str().unwrap();
    let heard = handle_message(
        gate.api.inbound(),
        &linked(),
        &word("77", ReplyContent::Approve(which(id))),
    )
    .await;
    assert!(heard.contains("not sent to you here"), "{heard}");
    assert_eq!(state(&gate, &open).await, State::Pending);
    // Only our message has the button: it counts before it is written down that it arrived.
    let unsent = gate.gate.store().request(Id::parse(id).unwrap()).await.unwrap().unwrap();
    let quick = word("77", button(&gate, &unsent, Choice::Approve));
    handle_message(gate.api.inbound(), &linked(), &quick).await;
    assert_eq!(state(&gate, &unsent).await, State::Approved);
}

#[tokio::test]
async fn every_tier_channel_and_assurance_follows_the_table() {
    let gate = linked_gate().await;
    let tiers =
        [("systemctl restart nginx", Tier::Medium), (HIGH, Tier::High), (CRITICAL, Tier::Critical)];
    let mut number = 0;
    for (command, tier) in tiers {
        for approves in [Tier::Safe, Tier::Low, Tier::Medium, Tier::High] {
            for assurance in [Assurance::Reached, Assurance::Linked] {
                number += 1;
                let open = asked(&gate, &format!("{command} # {number}")).await;
                assert_eq!(open.request.tier, tier, "{command}");
                let way = channel_with(true, assurance, approves);
                let said = ReplyContent::Approve(RequestRef {
                    name: word_pair(&open.request.digest.canonical).to_string(),
                    reason: "it is fine".to_owned(),
                });
                let heard = handle_message(gate.api.inbound(), &way, &word("77", said)).await;
                let may = assurance == Assurance::Linked && tier <= approves;
                let wanted = if may { State::Approved } else { State::Pending };
                assert_eq!(state(&gate, &open).await, wanted, "{tier:?} {heard}");
                let no = word("77", ReplyContent::Deny(which(&open.request.id.to_string())));
                handle_message(gate.api.inbound(), &way, &no).await;
                let wanted = if may { State::Approved } else { State::Denied };
                assert_eq!(state(&gate, &open).await, wanted);
            }
        }
    }
}

#[tokio::test]
async fn typed_names_select_a_request() {
    let gate = linked_gate().await;
    let open = asked(&gate, HIGH).await;
    let say = async |said| handle_message(gate.api.inbound(), &linked(), &word("77", said)).await;
    assert!(say(ReplyContent::Pending).await.contains("1 pending request"));
    assert!(say(ReplyContent::Approve(which(""))).await.contains("Which request?"));
    assert!(say(ReplyContent::Approve(which("no-such"))).await.contains("No pending request"));
    assert_eq!(state(&gate, &open).await, State::Pending);
    let phrase = word_pair(&open.request.digest.canonical).to_string();
    assert!(say(ReplyContent::Approve(which(&phrase))).await.starts_with("Approved."));
    let only = asked(&gate, "git push -f y").await;
    assert!(say(ReplyContent::Deny(which(""))).await.starts_with("Denied."));
    assert_eq!(state(&gate, &only).await, State::Denied);
    assert!(say(ReplyContent::Pending).await.contains("No pending requests"));
}

#[tokio::test]
async fn account_names_are_sanitized() {
    let gate = linked_gate().await;
    let accounts = gate.gate.store().accounts().await.unwrap();
    assert!(!accounts[0].called.contains('\u{202e}'), "{accounts:?}");
}

#[tokio::test]
async fn a_drill_is_answered_like_any_request_and_then_explained() {
    let gate = linked_gate().await;
    asked(&gate, "scp notes.txt ana@203.0.113.9:").await;
    for choice in [Choice::Deny, Choice::Approve] {
        let drill = crate::drills::create_now(&gate.gate).await.unwrap();
        let critical = drill.request.tier == Tier::Critical;
        let waiting =
            handle_message(gate.api.inbound(), &linked(), &word("77", ReplyContent::Pending)).await;
        assert!(
            waiting.starts_with("2 pending requests") && !waiting.contains("drill"),
            "{waiting}"
        );
        let tap = word("77", button(&gate, &drill, choice));
        let heard = handle_message(gate.api.inbound(), &linked(), &tap).await;
        if choice == Choice::Approve && drill.request.tier == Tier::High {
            assert!(heard.starts_with("Not approved: a HIGH call"), "{heard}");
            continue;
        }
        if choice == Choice::Approve && critical {
            assert!(heard.starts_with("Nothing was decided"), "{heard}");
            continue;
        }
        assert!(heard.starts_with("This was a drill: coder asked for nothing"), "{heard}");
    }
}

#[tokio::test]
async fn a_linked_account_freezes_and_a_stranger_does_not() {
    let gate = linked_gate().await;
    let open = asked(&gate, MEDIUM).await;
    handle_message(gate.api.inbound(), &linked(), &word("78", ReplyContent::Freeze)).await;
    assert_eq!(state(&gate, &open).await, State::Pending);
    assert!(gate.gate.freeze_state().check().is_ok());
    let heard =
        handle_message(gate.api.inbound(), &linked(), &word("77", ReplyContent::Freeze)).await;
    assert!(heard.starts_with("Frozen. Every call is refused; 1 pending denied."), "{heard}");
    assert_eq!(state(&gate, &open).await, State::Denied);
    assert!(gate.gate.freeze_state().check().is_err());
}

/// The account of one of several people waits before it may approve. It may deny at once.
#[tokio::test]
async fn a_freshly_linked_account_waits_before_it_approves() {
    let gate = test_gate_with(FLOOD, SqliteOptions::default()).await;
    let store = gate.gate.store();
    let ana = store.people().await.unwrap().remove(0);
    let bo = StoredPerson { name: "bo".to_owned(), ..ana };
    store.save_person(bo, gate.gate.note()).await.unwrap();
    gate.api.directory.reload(store).await.unwrap();
    let said = link(&gate).await;
    assert!(said.contains("deny here as ana now, and approve in 60 min"), "{said}");
    let open = asked(&gate, MEDIUM).await;
    let phrase = word_pair(&open.request.digest.canonical).to_string();
    for said in [button(&gate, &open, Choice::Approve), ReplyContent::Approve(which(&phrase))] {
        let heard = handle_message(gate.api.inbound(), &linked(), &word("77", said)).await;
        assert!(heard.contains("it cannot approve before"), "{heard}");
        assert_eq!(state(&gate, &open).await, State::Pending);
    }
    let tap = word("77", button(&gate, &open, Choice::Deny));
    assert!(handle_message(gate.api.inbound(), &linked(), &tap).await.starts_with("Denied."));
    assert_eq!(state(&gate, &open).await, State::Denied);
}

/// Ana adds a passkey through the people API.
async fn add_passkey(gate: &TestGate) {
    let authenticator = TestAuthenticator::es256("localhost", "http://localhost:6000");
    let post = async |path: &str, body: String| {
        let mut request = Request::post(path)
            .header("host", "localhost:6000")
            .header("authorization", format!("Bearer {PERSON}"))
            .header("content-type", "application/json")
            .header(STEP_UP, step_up_proof(PASSPHRASE))
            .body(Body::from(body))
            .unwrap();
        request.extensions_mut().insert(Peer::Network { local: true });
        let response = routes::people(&gate.api).call(request).await.unwrap();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()
    };
    let begun = post("/v1/passkeys/begin", "{}".to_owned()).await;
    let challenge = base64::decode_url(begun["challenge"].as_str().unwrap()).unwrap();
    let body = authenticator.registration_body(&challenge, "desk");
    let added = post("/v1/passkeys", body.to_string()).await;
    assert_eq!(added["name"], "desk", "{added}");
}

#[tokio::test]
async fn a_new_link_and_a_new_passkey_are_announced_on_every_channel() {
    let folder = tempfile::tempdir().unwrap();
    let receivers = [
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    ];
    let channels =
        receivers[0].channel("one", folder.path()) + &receivers[1].channel("two", folder.path());
    let settings = format!("[escalation]\nfirst = [\"one\"]\n{FLOOD}{channels}");
    let gate = test_gate_with(&settings, SqliteOptions::default()).await;
    link(&gate).await;
    add_passkey(&gate).await;
    for words in ["ana linked an account on mock", "ana added a passkey for approvals"] {
        for receiver in &receivers {
            let told = |(_, body): &(String, serde_json::Value)| body.to_string().contains(words);
            until(words, async || receiver.got().iter().any(told)).await;
        }
    }
}
