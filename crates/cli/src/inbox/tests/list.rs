//! The list: by urgency, and still under the finger.

use super::super::event::{InboxEvent, InputKey};
use super::{Bench, ended, request};

fn shown(bench: &Bench) -> Vec<String> {
    bench.inbox.list.shown().map(|entry| entry.request.tier.clone()).collect()
}

#[test]
fn the_gravest_comes_first_and_the_one_that_is_looked_at_stays() {
    let mut bench = Bench::new(80, 24, &[request(1, "npm install x", "LOW")]);
    let looked = bench.inbox.list.current().unwrap().id.clone();
    bench.asked(&request(2, "rm -rf /", "CRITICAL"));
    let mut crisis = request(3, "git push", "MEDIUM");
    crisis.crisis = true;
    bench.asked(&crisis);
    bench.asked(&request(4, "git push --force", "HIGH"));
    assert_eq!(shown(&bench), ["MEDIUM", "CRITICAL", "HIGH", "LOW"]);
    assert_eq!(bench.inbox.list.current().unwrap().id, looked);
    assert!(bench.shows("npm install x"), "{}", bench.text());
}

#[test]
fn in_a_long_list_the_row_stays_where_it_is() {
    let many: Vec<_> =
        (0..50).map(|number| request(number, &format!("git push n{number}"), "MEDIUM")).collect();
    let mut bench = Bench::new(80, 24, &many);
    for _ in 0..20 {
        bench.key(InputKey::Down);
    }
    let marked = |bench: &Bench| bench.text().lines().position(|line| line.starts_with('›'));
    let before = marked(&bench).unwrap();
    for number in 60..70 {
        bench.asked(&request(number, "rm -rf /", "CRITICAL"));
        assert_eq!(marked(&bench), Some(before));
    }
}

#[test]
fn an_answered_one_stays_to_be_read_and_then_makes_room() {
    let waiting = [request(1, "git push", "MEDIUM"), request(2, "git push -f", "MEDIUM")];
    let mut bench = Bench::new(80, 24, &waiting);
    let looked = bench.inbox.list.current().unwrap().request.clone();
    bench.tell(InboxEvent::Changed(Box::new(ended(&looked, "denied"))));
    assert!(bench.shows("denied by ana"), "{}", bench.text());
    assert!(bench.shows("The agent was told: as agreed") && bench.shows("1 pending"));
    // A late word that it waits changes nothing.
    bench.tell(InboxEvent::Changed(Box::new(looked.clone())));
    assert!(bench.shows("denied by ana"));
    bench.wait(4000);
    assert!(bench.shows("denied by ana"));
    bench.wait(1000);
    assert!(!bench.shows("denied by ana"));
    assert_eq!(bench.inbox.list.shown().count(), 1);
}

#[test]
fn what_is_missing_from_a_new_list_is_over() {
    let waiting = [request(1, "git push", "MEDIUM"), request(2, "git push -f", "MEDIUM")];
    let mut bench = Bench::new(80, 24, &waiting);
    bench.tell(InboxEvent::Listed(vec![waiting[1].clone()]));
    assert_eq!(bench.inbox.list.waiting(), 1);
    bench.wait(5000);
    assert_eq!(bench.inbox.list.shown().count(), 1);
}

#[test]
fn looking_for_something_shows_only_that() {
    let waiting = [request(1, "git push", "MEDIUM"), request(2, "npm publish", "HIGH")];
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("/MEDIUM");
    assert_eq!(shown(&bench), ["MEDIUM"]);
    bench.press("\n");
    assert!(bench.shows("2 pending") && bench.shows("1 with “MEDIUM”"), "{}", bench.text());
    bench.press("x");
    assert!(bench.shows("Deny all 1?"), "only what is listed: {}", bench.text());
    bench.key(InputKey::Escape);
    bench.key(InputKey::Escape);
    assert_eq!(shown(&bench).len(), 2);
}
