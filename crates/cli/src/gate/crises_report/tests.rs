//! The report over entries as the daemon writes them.

use super::*;
use countersign_json::canonical::Digest;

fn entry(kind: EntryKind, minute: i64, facts: &[(&'static str, Value<'static>)]) -> Entry<'static> {
    let mut entry = Entry::new(minute * 60_000, kind, Digest::of(b"policy"));
    entry.agent = Some("a".into());
    entry.session = Some("s".into());
    entry.facts = facts.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    entry
}

fn text(text: &'static str) -> Value<'static> {
    Value::String(text.into())
}

fn card(minute: i64, concern: &'static str, country: &'static str) -> Entry<'static> {
    let facts = [
        ("concern", text(concern)),
        ("country", text(country)),
        ("imminent", Value::Bool(concern == "likely")),
    ];
    entry(EntryKind::Screen, minute, &facts)
}

fn request(kind: EntryKind, minute: i64, id: &'static str) -> Entry<'static> {
    let mut entry = entry(kind, minute, &[("crisis", Value::Bool(true))]);
    entry.request = Some(id.into());
    if matches!(kind, EntryKind::Approve | EntryKind::Deny) {
        entry.person = Some("ana".into());
    }
    entry
}

fn report(entries: &[Entry<'_>], from: Option<&str>, to: Option<&str>) -> CrisisReport {
    let moment = |text, end| moment(text, end).unwrap_or_else(|_| panic!("a date"));
    let period = (moment(from, false), moment(to, true));
    let mut tally = Tally { period, ..Tally::default() };
    for entry in entries {
        tally.add(entry);
    }
    tally.finish()
}

#[test]
fn cards_crises_and_answers_are_counted() {
    let begin = |minute, level: &'static str| {
        entry(EntryKind::CrisisBegin, minute, &[("level", Value::Number(level.into()))])
    };
    let mut lift = entry(EntryKind::CrisisLift, 31, &[]);
    lift.person = Some("bo".into());
    let mut plain = request(EntryKind::Ask, 5, "other");
    plain.facts.clear();
    let entries = [
        card(0, "possible", "DE"),
        card(1, "likely", ""),
        begin(1, "4"),
        begin(2, "5"),
        request(EntryKind::Ask, 3, "one"),
        plain,
        request(EntryKind::Approve, 4, "one"),
        request(EntryKind::Deny, 6, "other"),
        request(EntryKind::Ask, 10, "two"),
        request(EntryKind::Expire, 25, "two"),
        lift,
    ];
    let all = report(&entries, None, None);
    assert_eq!((all.cards_possible, all.cards_likely, all.cards_imminent), (1, 1, 1));
    assert_eq!((all.crises, all.crises_resolved), (1, 1));
    assert_eq!(all.crises_by_level.get(&4), Some(&1));
    assert_eq!((all.held, all.approved, all.denied, all.unanswered), (2, 1, 0, 1));
    assert_eq!(all.answer_seconds_median, Some(60));
    assert_eq!(all.resolve_seconds_median, Some(30 * 60));
    assert_eq!(all.people, 2);
    let mut out = Vec::new();
    csv(&mut out, &rows(&all)).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("measure,value\ncards_possible,1\n"), "{out}");
    assert!(out.contains("\ncards_country_unknown,1\ncards_country_DE,1\n"), "{out}");
    assert!(!out.contains("ana") && !out.contains("bo,"), "{out}");
}

#[test]
fn referrals_takeovers_and_pages_are_counted() {
    let begin = entry(EntryKind::CrisisBegin, 1, &[("level", Value::Number("4".into()))]);
    let take_over = |minute, person: &'static str| {
        let mut taken = entry(EntryKind::CrisisTakeover, minute, &[]);
        taken.person = Some(person.into());
        taken
    };
    let page =
        |kind, channel, what| entry(kind, 2, &[("channel", text(channel)), ("what", text(what))]);
    let mut of_call = page(EntryKind::Notified, "sms", "asked");
    of_call.request = Some("one".into());
    let mut of_other = page(EntryKind::Notified, "desk", "asked");
    of_other.request = Some("other".into());
    let mut elsewhere = card(3, "possible", "");
    elsewhere.session = Some("t".into());
    let entries = [
        card(0, "possible", "DE"),
        card(1, "likely", "DE"),
        elsewhere,
        begin,
        request(EntryKind::Ask, 1, "one"),
        page(EntryKind::Notified, "telegram", "crisis page"),
        page(EntryKind::Notified, "telegram", "crisis page"),
        page(EntryKind::NotifyFailed, "email", "crisis page"),
        of_call,
        of_other,
        take_over(4, "ana"),
        take_over(6, "bo"),
    ];
    let all = report(&entries, None, None);
    assert_eq!((all.referrals, all.referred_sessions), (3, 2));
    assert_eq!((all.takeovers, all.takeover_seconds_median), (1, Some(180)));
    assert_eq!((all.pages_sent, all.pages_failed, all.channels_on_duty), (3, 1, 2));
    assert_eq!(all.people, 2, "both wrote to the user");
    let rows = rows(&all);
    let row = |name: &str| rows.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
    assert_eq!((row("takeovers"), row("referrals")), (Some("1"), Some("3")));
}

#[test]
fn a_period_includes_its_last_day() {
    let day = 24 * 60;
    let entries = [card(0, "likely", ""), card(day - 1, "likely", ""), card(day, "likely", "")];
    assert_eq!(report(&entries, Some("1970-01-01"), Some("1970-01-01")).cards_likely, 2);
    assert_eq!(report(&entries, Some("1970-01-02"), None).cards_likely, 1);
    assert_eq!(report(&entries, None, None).cards_likely, 3);
    assert!(moment(Some("yesterday"), false).is_err());
}
