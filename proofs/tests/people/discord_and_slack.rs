//! The same request asked about in two places: answered in both at once it ends once, and both
//! messages say how.

use std::sync::Barrier;

use serde_json::json;

use crate::fake_platform::{Caller, FakePlatform, asked, installation, state};
use crate::fixture::{Rng, report_figures, risky, shared, size};
use crate::{discord, slack};

#[test]
fn answered_in_two_places_at_once_it_ends_once_and_both_say_so() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let one = FakePlatform::start(discord::Discord::default());
    let two = FakePlatform::start(slack::Slack::default());
    let channels = [
        ("discord", discord::settings(folder.path(), &one, true)),
        ("slack", slack::settings(folder.path(), &two)),
    ];
    let fixture = installation(folder.path(), &channels);
    let mut first = Caller::new(fixture.gate.people, "discord");
    let mut second = Caller::new(fixture.gate.people, "slack");
    discord::link(&fixture, &mut first);
    slack::link(&fixture, &mut second);
    let (mut rng, many) = (Rng(0xb07), size(40, 1_000));
    let (mut approved, mut by_discord) = (0, 0);
    for number in 0..many {
        let id = asked(&fixture, &risky(number), &["discord", "slack"]);
        let here = one.until("a message on Discord", |discord| discord.about(&id));
        let there = two.until("a message on Slack", |slack| slack.about(&id));
        // One says yes and the other no, in turn: whoever is first has decided.
        let yes_here = rng.below(2) == 0;
        let (left, right) = if yes_here { ("Approve once", "deny") } else { ("Deny", "approve") };
        let (left, right) = (discord::button(&here, left), slack::button(&there, right));
        let (barrier, before) = (Barrier::new(2), two.platform.lock().unwrap().whispers.len());
        let serial = 1_000 + number as u64;
        let said = std::thread::scope(|scope| {
            let tapping = scope.spawn(|| {
                barrier.wait();
                discord::post(&mut first, &discord::tap(serial, discord::ANA, &left))
            });
            barrier.wait();
            let slack = slack::tap(&mut second, serial, slack::ANA, &right);
            assert_eq!((slack.0, slack.1), (200, json!(null)));
            tapping.join().unwrap()
        });
        let said = discord::told(&said).to_owned();
        let whisper = slack::private_messages(&two, slack::ANA, before);
        let decided = |text: &str| text.starts_with("Approved.") || text.starts_with("Denied.");
        assert_ne!(decided(&said), decided(&whisper), "{said} / {whisper}");
        let here_first = decided(&said.replace('\\', ""));
        let state = state(&fixture, &id);
        let wanted = if here_first == yes_here { "approved" } else { "denied" };
        assert_eq!(state, wanted, "{said} / {whisper}");
        let place = if here_first { "discord" } else { "slack" };
        let words = format!("{state} by owner through {place}");
        one.until("an end on Discord", |discord| {
            let message = discord.about(&id)?;
            let over = message["components"] == json!([]);
            (over && message["content"].as_str()?.contains(&words)).then_some(())
        });
        two.until("an end on Slack", |slack| {
            slack::ended(&slack.about(&id)?, &words).then_some(())
        });
        approved += usize::from(state == "approved");
        by_discord += usize::from(here_first);
    }
    assert!(fixture.gate.stop().unwrap());
    report_figures(&format!(
        "discord and slack at once: {many} requests ended once, {approved} approved, {by_discord} \
         by Discord, both messages say so"
    ));
}
