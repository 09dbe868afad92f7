//! What channels say in a crisis.

use countersign_channels::{AnnouncementEvent, ChannelLimits, ChannelSettings, Ending};
use countersign_store::CrisisSession;
use countersign_types::time::Clock as _;
use countersign_workflow::request::{EscalationLevel, State};

use super::super::announcement::{AnnouncementSource, announcement};
use super::super::channel_pool::OpenChannel;
use super::super::test_notifier::{ReceiverBehavior, TestNotifier, WebhookReceiver};
use super::HIGH;
use crate::gate::ShownCard;

const WORDS: &str = "I want to die tonight";

#[tokio::test]
async fn only_messages_that_are_changed_afterwards_show_the_words_of_a_crisis() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = hook.channel("hook", folder.path());
    let notifier = TestNotifier::open(folder.path(), &text).await;
    let gate = &notifier.gate;
    let now = gate.clock().now().at;
    gate.crises().begin(CrisisSession {
        agent: "coder".to_owned(),
        session: String::new(),
        level: 4,
        imminent: true,
        since: now,
    });
    let card = ShownCard { country: Some("US"), lang: "en", helper: false };
    gate.crisis_turns().add_signs("coder", "", (&["I want to die"], Some(card)), now);
    gate.crisis_turns().add("coder", "", "user", WORDS, now);
    let asked = notifier.ask(HIGH).await;
    assert!(asked.request.crisis);
    let rules = gate.rules();
    let settings = &rules.channels["hook"].settings;
    for kind in ["telegram", "discord", "slack", "sms", "ntfy", "email", "webhook", "desktop"] {
        let limits = ChannelLimits { details: true, ..ChannelSettings::usual(kind) };
        let channel = OpenChannel::new(settings.open("hook", limits).unwrap(), limits);
        let told = |news: AnnouncementEvent| {
            let level = EscalationLevel::First;
            let about = AnnouncementSource { stored: &asked, news, at: now, seq: 1, level };
            announcement(gate, &notifier.parts.buttons, &channel, about)
        };
        let question = told(AnnouncementEvent::Asked);
        let chat = ["telegram", "discord", "slack"].contains(&kind);
        let lines = question.reasons.join("\n");
        assert_eq!(lines.contains(WORDS), chat, "{kind}: {lines}");
        assert_eq!(lines.contains("Level 4 of 6, danger may be imminent."), chat, "{kind}");
        assert_eq!(lines.contains("Signs: “I want to die”"), chat, "{kind}");
        assert_eq!(lines.contains("988"), chat, "{kind}: {lines}");
        assert_eq!(question.call.contains("rm -rf"), chat, "{kind}");
        for option in ["approve", "edit", "deny", "take over"] {
            assert!(lines.contains(option), "{kind}: {lines}");
        }
        let ways = question.ways.unwrap();
        assert!(ways.approve.is_none(), "{kind}: a crisis is answered in the inbox");
        let ended = told(AnnouncementEvent::Ended(Ending {
            state: State::Denied,
            by: "ana".to_owned(),
            place: "web".to_owned(),
            drill: None,
            edited: None,
        }));
        assert!(ended.reasons.is_empty() && ended.call.is_empty(), "{kind}");
    }
}
