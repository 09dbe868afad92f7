//! Many hooks at once: each is answered, in time and for its own call, and every call is kept.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use countersign_client::{Filter, PeopleClient, RequestRecord, RequestStatus};

use super::fixture::{HookOutput, TestHome, approve, bash};

/// How many; `PROOF` in the environment makes it a thousand.
fn many() -> usize {
    std::env::var("PROOF").map_or(60, |_| 1_000)
}

#[test]
fn a_flood_is_answered_and_none_of_it_passes() {
    let home = TestHome::new();
    let many = many();
    let start = Instant::now();
    let hooks: Vec<_> = (0..many)
        .map(|number| {
            let call = bash(&format!("rm -rf /srv/{number}"), &format!("t{number}"));
            home.hook(&["claude", "--patience", "10"], &call)
        })
        .collect();
    let said: Vec<String> = hooks.into_iter().map(|hook| HookOutput::of(hook).denied()).collect();
    assert_eq!(said.len(), many);
    println!("{many} at once, all denied after {:?}", start.elapsed());
}

/// Every tenth is approved while all of them wait; the limits for a flood are out of the way.
#[test]
fn many_wait_at_once_and_each_gets_its_own_answer() {
    let mut home = TestHome::empty();
    home.without_limits();
    home.start();
    let (many, person) = (many(), home.person());
    let patience = if many > 100 { 30 } else { 8 };
    let words = ["claude", "--patience", &patience.to_string()];
    let start = Instant::now();
    let hooks: Vec<_> = (0..many)
        .map(|number| {
            let call = bash(&format!("rm -rf /srv/number-{number}-"), &format!("t{number}"));
            home.hook(&words, &call)
        })
        .collect();
    let open = all_waiting(&person, many);
    println!("{many} wait after {:?}", start.elapsed());
    let is_chosen = |number: usize| number % 10 == 3;
    let chosen: HashSet<String> = (0..many)
        .filter(|number| is_chosen(*number))
        .map(|number| format!("/srv/number-{number}-"))
        .collect();
    let is = |request: &&RequestRecord| {
        let brief = request.brief.as_deref().unwrap_or_default();
        chosen.iter().any(|path| brief.contains(path))
    };
    let yes: Vec<RequestRecord> = open.iter().filter(is).cloned().collect();
    assert_eq!(yes.len(), chosen.len());
    approve(&person, &yes);
    println!("{} approved after {:?}", yes.len(), start.elapsed());
    let mut joinable = 0;
    for (number, hook) in hooks.into_iter().enumerate() {
        let (word, why) = HookOutput::of(hook).claude();
        let wanted = if is_chosen(number) { "allow" } else { "deny" };
        assert_eq!(word, wanted, "{number}: {why}");
        assert!(is_chosen(number) || why.contains("not run"), "{number}: {why}");
        joinable += usize::from(why.contains("has not decided yet"));
    }
    let took = start.elapsed();
    println!("{many} at once, all answered after {took:?}; {joinable} told what still waits");
    // Every hook answered before its request ended: none waited for that.
    all_waiting(&person, many - yes.len());
}

#[test]
fn many_that_only_look_are_all_written_down() {
    let home = TestHome::new();
    let (many, start) = (many(), Instant::now());
    let hooks: Vec<_> = (0..many)
        .map(|number| {
            let call = bash(&format!("cat notes-{number}.txt"), &format!("t{number}"));
            home.hook(&["claude", "--patience", "20"], &call)
        })
        .collect();
    for hook in hooks {
        assert_eq!(HookOutput::of(hook).claude().0, "nothing");
    }
    println!("{many} looked at once, all answered after {:?}", start.elapsed());
    let person = home.person();
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let found = passes(&person);
        if found == many {
            break;
        }
        assert!(Instant::now() < end && found < many, "{found} of {many} in the ledger");
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("all in the ledger after {:?}", start.elapsed());
}

/// How many calls the ledger says passed.
fn passes(person: &PeopleClient) -> usize {
    let (mut count, mut from) = (0, 0);
    loop {
        let page = person.entries(from, 500).unwrap().entries;
        let texts = page.iter().map(|entry| format!("{entry:?}").replace('\\', ""));
        count += texts.filter(|text| text.contains("\"kind\":\"pass\"")).count();
        from += page.len() as u64;
        if page.is_empty() {
            return count;
        }
    }
}

/// All requests that wait, once there are so many.
fn all_waiting(person: &PeopleClient, many: usize) -> Vec<RequestRecord> {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let state = Some(RequestStatus::Pending);
            let page = person.list(&Filter { state, before, ..Filter::default() }).unwrap();
            found.extend(page.requests);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        if found.len() == many {
            return found;
        }
        assert!(Instant::now() < end, "{} of {many} wait", found.len());
        std::thread::sleep(Duration::from_millis(100));
    }
}
