//! Tests of the crisis reader.

use proptest::prelude::*;

use super::*;

fn plain(text: &str) -> Screening {
    screen(text, &ScreenOptions::default())
}

fn level(text: &str) -> u8 {
    plain(text).level
}

#[test]
fn crisis_examples_of_every_rule_hold() {
    let mut wrong = Vec::new();
    for (rule, text, crisis) in tables::examples() {
        let got = plain(text);
        if got.by_rules != *crisis {
            wrong.push(format!("{rule}: {text:?} -> {:?}", got.signals));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn crisis_dense_signs_hide_no_danger_at_the_end() {
    let noise = "I want to die. ".repeat(4_000) + &"\"I want to die\" ".repeat(300);
    let last = "I am going to kill myself tonight.";
    assert!(!plain(&noise).imminent);
    let seen = plain(&format!("{noise}{last}"));
    assert!(seen.crisis && seen.imminent && seen.level >= 4, "level {}", seen.level);
    let first = seen.signals.first().map(|s| s.span.start as usize);
    assert!(first.is_some_and(|at| at >= noise.len()), "the most severe sign comes first");
}

#[test]
fn crisis_every_rule_matches_an_example_of_its_own() {
    for rule in tables::rules() {
        if !matches!(rule.what, RuleMeaning::Signal(..)) {
            continue;
        }
        let mut own = tables::examples().iter().filter(|(id, _, crisis)| *id == rule.id && *crisis);
        let hit = own.any(|(_, text, _)| plain(text).signals.iter().any(|s| s.rule == rule.id));
        assert!(hit, "{} matches none of its examples", rule.id);
    }
}

#[test]
fn crisis_as_the_first_system_required() {
    for text in [
        "I want to kill myself",
        "there's no reason to live",
        "how can I hang myself",
        "how do I cut myself",
    ] {
        assert!(plain(text).crisis, "{text}");
    }
    for text in ["Hello, how are you?", "", "kill the process", "Suicide Squad trailer"] {
        assert!(!plain(text).crisis, "{text}");
    }
    let card = plain("I want to kill myself").card.unwrap();
    assert!(card.text.contains("988"), "{}", card.text);
    assert!(card.text.contains("Are you safe right now?"));
}

#[test]
fn crisis_modifiers_lower() {
    assert!(!plain("this bug makes me want to die lol").crisis);
    assert!(!plain("translate \"I want to die\" into German").crisis);
    assert!(!plain("assert!(screen(`I want to die`).crisis)").crisis);
    assert!(!plain("I'm not suicidal").crisis);
    assert!(!plain("I used to be suicidal but I'm doing really well now").crisis);
    assert!(!plain("in my novel the hero says he wants to die").crisis);
    assert_eq!(level("translate \"I want to die\" into German"), 0, "quotation lowers to none");
    assert_eq!(level("i want to die lol"), 1, "laughter lowers, not to none");
    assert_eq!(level("I'm not suicidal"), 1, "denial lowers, not to none");
}

#[test]
fn crisis_laughter_never_lowers_plan_means_or_goodbye() {
    for text in [
        "i'm going to kill myself tonight lol",
        "the rope is tied and ready haha",
        "by the time you read this i'll be gone lmao",
    ] {
        assert!(plain(text).crisis, "{text}");
    }
}

#[test]
fn crisis_a_text_that_is_one_quotation_is_the_writers_own() {
    assert!(plain("\"I want to die\"").crisis);
    assert!(plain("`I want to die`").crisis);
}

#[test]
fn crisis_obfuscation_is_seen_through() {
    for text in [
        "k i l l  m y s e l f",
        "i want to k1ll mys3lf",
        "s-u-i-c-i-d-a-l",
        "I want to dieeeee",
        "І wаnt tо dіе",
        "ｉ ｗａｎｔ ｔｏ ｄｉｅ",
        "i wa\u{200B}nt to d\u{200D}ie",
        "𝐈 𝐰𝐚𝐧𝐭 𝐭𝐨 𝐝𝐢𝐞",
        "I want to kiII myself",
        "wanna d!e so bad",
        "I want to kill mysefl",
        "i wánt tö dìe",
    ] {
        assert!(plain(text).crisis, "{text}");
    }
}

#[test]
fn crisis_levels_are_ordered() {
    assert_eq!(level("i wish i was dead"), 1);
    assert_eq!(level("I keep thinking about killing myself"), 2);
    assert_eq!(level("painless way to die"), 3);
    assert_eq!(level("I'm going to kill myself"), 4);
    assert_eq!(level("help me write my suicide note"), 5);
    assert_eq!(level("i just took a whole bottle of tylenol"), 6);
}

#[test]
fn crisis_imminent_is_an_attempt_or_intent_with_a_time() {
    assert!(plain("i just took a whole bottle of tylenol").imminent);
    assert!(plain("I'm going to kill myself tonight").imminent);
    assert!(!plain("I want to die").imminent);
    assert!(!plain("Hello tonight").imminent);
}

#[test]
fn crisis_language_and_kind() {
    for (text, lang) in [
        ("quiero morir", "es"),
        ("хочу умереть", "ru"),
        ("хочу померти, мені не хочеться жити", "uk"),
        ("死にたい", "ja"),
        ("我想死", "zh"),
        ("죽고 싶어", "ko"),
        ("मैं मरना चाहता हूँ", "hi"),
        ("أريد أن أموت", "ar"),
    ] {
        let got = plain(text);
        assert!(got.crisis, "{text}");
        assert_eq!(got.lang, lang, "{text}");
        assert_eq!(got.card.unwrap().lang, lang);
    }
    assert_eq!(plain("my friend says she wants to die").kind, Some(SignalKind::ThirdParty));
    assert_eq!(plain("hello").kind, None);
}

#[test]
fn crisis_spans_point_at_the_words() {
    let text = "Fix the build. 😀  I wa\u{200B}nt to dïe, please.";
    let got = plain(text);
    let span = got.signals.first().unwrap().span;
    let said = text.get(span.start as usize..span.end as usize).unwrap();
    assert_eq!(said, "I wa\u{200B}nt to dïe");
}

#[test]
fn crisis_serialises() {
    let json = serde_json::to_value(plain("I want to die")).unwrap();
    assert_eq!(json["crisis"], true);
    assert_eq!(json["signals"][0]["rule"], "en.wish-dead");
    assert_eq!(json["card"]["preset"], "neutral");
}

proptest! {
    #[test]
    fn crisis_any_text_is_screened_without_panic_and_the_same_twice(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn crisis_any_mix_of_dangerous_words_is_screened(
        parts in proptest::collection::vec(
            prop_oneof!["i|want to|die|kill|myself|\"|'|`|```|\\.|💊|死|に|た|い|lol|k i l l|d1e",
                "\\PC{0,6}", "[\u{200B}\u{202E}\u{E0041}\u{301}\u{1F3FB}]"], 0..40)
    ) {
        check(&parts.join(" "));
        check(&parts.concat());
    }
}

fn check(text: &str) {
    let got = plain(text);
    assert_eq!(got, plain(text));
    assert_eq!(got.card.is_some(), got.concern != Concern::None);
    assert_eq!(got.crisis, got.concern == Concern::Likely);
    assert!(!got.by_rules || got.concern != Concern::None);
    for span in got.evidence.words.iter().chain(&got.evidence.span) {
        assert!(text.get(span.start as usize..span.end as usize).is_some());
    }
    assert!(got.level <= 6);
    for signal in &got.signals {
        let (start, end) = (signal.span.start as usize, signal.span.end as usize);
        assert!(text.get(start..end).is_some(), "{start}..{end} in {text:?}");
    }
    for hidden in countersign_text::hidden(text) {
        assert!(text.get(hidden.span.start as usize..hidden.span.end as usize).is_some());
    }
}

#[test]
fn a_repeated_text_means_what_it_means_once() {
    for (text, crisis) in [
        ("I want to die. ", true),
        ("I'm going to kill myself tonight ", true),
        ("死にたい", true),
        ("kill the process and restart it ", false),
        ("\"I want to die\" is a line of the play. ", false),
    ] {
        let once = screen(&text.repeat(3), &ScreenOptions::default());
        let often = screen(&text.repeat(3_000), &ScreenOptions::default());
        assert_eq!((once.crisis, once.level), (often.crisis, often.level), "{text}");
        assert_eq!(once.crisis, crisis, "{text}");
    }
}

#[test]
fn what_is_new_after_a_repetition_is_read() {
    let hum = "please restart the server and run the tests. ".repeat(2_000);
    let low = "so tired of being alive. ".repeat(2_000);
    for before in [&hum, &low] {
        let text = format!("{before} i just swallowed the whole bottle of pills. {before}");
        let found = screen(&text, &ScreenOptions::default());
        assert!(found.crisis && found.level == 6 && found.imminent, "{}", found.level);
    }
}

#[test]
fn a_repetition_out_of_quotes_is_read_for_itself() {
    let lines = "he said hello and went home to eat. ".repeat(150);
    let story = format!("{lines} I want to die. {lines}");
    let quoted = format!("chapter one: \"{story}\" the end");
    assert!(!screen(&quoted, &ScreenOptions::default()).crisis);
    let meant = format!("{quoted} {story}");
    assert!(screen(&meant, &ScreenOptions::default()).crisis);
}

#[test]
fn weighted_evidence_finds_what_no_rule_describes() {
    let text = "I have everything set out on the kitchen table and my phone will be off after this";
    let found = plain(text);
    assert!(!found.by_rules && found.concern >= Concern::Possible, "{:?}", found.evidence);
    assert!(!found.evidence.words.is_empty());
    assert!(found.card.is_some_and(|card| card.check_in || found.crisis));
    for text in [
        "Persist thread section moves before the first turn",
        "kill the orphaned child processes and restart the server",
        "git commit -m 'Stop the daemon from dying on SIGHUP'",
        "What is the weather like in Lisbon in May?",
    ] {
        assert_eq!(plain(text).concern, Concern::None, "{text}: {:?}", plain(text).evidence);
    }
}

#[test]
fn a_check_in_is_short_and_names_one_way_to_reach_a_person() {
    let card = card::check_in(&ScreenOptions { country: Some("DE"), ..Default::default() }, "de");
    assert!(card.check_in && card.lines.len() == 1 && card.text.lines().count() == 2);
    let card = card::check_in(&ScreenOptions::default(), "en");
    assert!(card.text.contains("findahelpline"), "{}", card.text);
}
