//! Tests of the card and the helplines.

use super::*;

const TEXT: &str = "I want to kill myself";

fn card(options: &ScreenOptions) -> CrisisCard {
    screen(TEXT, options).card.unwrap()
}

fn within(country: &str) -> ScreenOptions<'_> {
    ScreenOptions { country: Some(country), ..ScreenOptions::default() }
}

#[test]
fn crisis_card_of_the_us() {
    let us = card(&within("us"));
    for part in ["call or text 988", "text HOME to 741741", "911", "Are you safe right now?"] {
        assert!(us.text.contains(part), "{part} in\n{}", us.text);
    }
    assert_eq!(us.country, Some("US"));
}

#[test]
fn crisis_card_elsewhere_shows_no_american_numbers() {
    for code in ["DE", "GB", "JP", "FR", "BR", "IN", "AU"] {
        let card = card(&within(code));
        let country = country(code).unwrap();
        assert!(card.text.contains(country.emergency), "{code}");
        assert!(!card.text.contains("988") && !card.text.contains("911"), "{}", card.text);
        assert!(card.text.contains("findahelpline.com"));
    }
}

#[test]
fn crisis_card_without_a_country_names_the_directory_and_marks_the_us() {
    for options in [ScreenOptions::default(), within("ZZ")] {
        let card = card(&options);
        assert!(card.text.contains("findahelpline.com"));
        assert!(card.text.contains("112") && card.text.contains("999"));
        assert!(card.text.contains("- US: call or text 988"));
        assert_eq!(card.emergency, None);
    }
}

#[test]
fn crisis_card_leads_with_the_emergency_number_when_imminent() {
    let now = screen("I'm going to kill myself tonight", &within("GB")).card.unwrap();
    assert!(now.imminent);
    assert!(now.text.starts_with("If somebody is in danger now, call 999"), "{}", now.text);
    assert!(!card(&within("GB")).text.starts_with("If somebody is in danger"));
}

#[test]
fn crisis_card_for_a_helper_is_worded_for_a_helper() {
    let helper = screen("my friend says she wants to die", &within("GB")).card.unwrap();
    assert!(helper.helper);
    assert!(helper.text.contains("looking out for somebody"), "{}", helper.text);
}

#[test]
fn crisis_card_soul_keeps_the_first_wording_and_neutral_has_no_promise() {
    let soul = ScreenOptions { preset: Preset::Soul, ..ScreenOptions::default() };
    let text = card(&soul).text;
    for part in ["I'm not going anywhere", "Jesus saves", "Call or text 988 (US)"] {
        assert!(text.contains(part), "{part}");
    }
    let neutral = card(&ScreenOptions::default()).text;
    assert!(!neutral.contains("not going anywhere") && !neutral.contains("Jesus"));
    assert!(!neutral.contains('!') && !neutral.contains("commit"), "{neutral}");
}

#[test]
fn crisis_card_never_shows_a_retired_number() {
    for known in tables::countries() {
        for unverified in [false, true] {
            let options = ScreenOptions { unverified, ..within(known.code) };
            let card = card(&options);
            for (country, number) in RETIRED {
                let shown = card.lines.iter().any(|l| l.number == *number);
                let said = *country == known.code && card.text.contains(number);
                assert!(!shown && !said, "{} shows {number}", known.code);
            }
        }
    }
    assert!(RETIRED.contains(&("KR", "1393")));
}

#[test]
fn crisis_card_hides_unverified_lines_unless_asked() {
    let quiet = card(&within("SE"));
    assert!(quiet.lines.is_empty() && quiet.text.contains("findahelpline.com"));
    let asked = card(&ScreenOptions { unverified: true, ..within("SE") });
    assert!(!asked.lines.is_empty() && asked.text.contains("(unverified)"));
}

#[test]
fn crisis_card_has_words_in_every_language() {
    for lang in tables::langs() {
        let options = ScreenOptions { lang: Some(lang), ..within("DE") };
        let card = card(&options);
        assert_eq!(card.lang, *lang);
        assert!(card.text.contains("112") && card.text.contains("0800 111 0 111"), "{lang}");
        assert!(!card.text.contains('{'), "{lang}: {}", card.text);
        let again = unanswered(&card);
        let (first, rest) = again.split_once("\n\n").unwrap();
        assert!(rest == card.text && first.chars().count() > 20, "{lang}: {again}");
    }
}

#[test]
fn crisis_helplines_are_dated() {
    assert!(CHECKED < CHECK_BY);
    assert!(HOW_CHECKED.contains("not verified live"));
}

/// The day of the last release; whoever moves it past `check_by` checks the numbers first.
const RELEASE: &str = "2026-11-15";

#[test]
fn crisis_helplines_are_checked_in_time() {
    assert!(!helplines_due(RELEASE), "HELPLINES ARE PAST {CHECK_BY}: check every number again");
    assert!(!helplines_due(CHECK_BY));
    assert!(helplines_due("2099-01-01"));
    assert!(helplines_due("soon"));
    assert!(helplines_due(""));
}

/// The text of the string literals of an SDK's file after the name of the constant.
fn static_card(path: &str) -> String {
    let file = format!("{}/../../sdk/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split_once("STATIC_CARD =").unwrap().1;
    let parts: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    parts.concat().replace("\\n", "\n")
}

#[test]
fn the_sdks_have_the_check_in_for_messages_that_nothing_could_screen() {
    let card = check_in_card(&ScreenOptions::default()).text;
    assert!(card.contains("findahelpline.com"), "{card}");
    assert!(!card.contains(['"', '\\']), "a plain literal holds it: {card}");
    for path in ["python/src/countersign/static_card.py", "typescript/src/static-card.ts"] {
        assert_eq!(static_card(path), card, "{path}");
    }
}

#[test]
fn a_possible_minor_sees_the_lines_for_young_people_first() {
    for (code, number) in [
        ("GB", "0800 1111"),
        ("CA", "1-800-668-6868"),
        ("AT", "147"),
        ("CH", "147"),
        ("IT", "19696"),
        ("PL", "116 111"),
    ] {
        let told = screen("I'm 14 and I want to kill myself", &within(code));
        assert!(told.possible_minor, "{code}");
        let card = told.card.unwrap();
        assert_eq!(card.lines.first().map(|line| line.number), Some(number), "{code}");
        assert!(card.youth, "{code}");
        let adult = screen("my 14 year old daughter says I want to kill myself", &within(code));
        let card = adult.card.unwrap();
        assert!(!adult.possible_minor && !card.youth, "{code}");
        // Poland has no other verified line.
        let first = card.lines.first().map(|line| line.number);
        assert_eq!(first == Some(number), code == "PL", "{code}");
        // The check-in has one line: that one.
        let short = check_in_card(&ScreenOptions { minor: true, ..within(code) });
        assert_eq!(short.lines.first().map(|line| line.number), Some(number), "{code}");
    }
}

/// What a child says may have to be passed on, so no card says that it is kept to itself.
#[test]
fn no_card_promises_a_minor_secrecy() {
    let secret = [
        "confidential",
        "secret",
        "private",
        "nobody will know",
        "vertraulich",
        "geheim",
        "anonym",
        "confidentiel",
        "confidencial",
        "secreto",
        "riservat",
        "segreto",
        "sigilo",
        "poufn",
        "tajemnic",
        "конфиденц",
        "тайн",
        "конфіденц",
        "таємн",
        "保密",
        "秘密",
        "匿名",
        "비밀",
        "익명",
    ];
    for lang in tables::langs() {
        for preset in [Preset::Neutral, Preset::Soul] {
            for country in [None, Some("US"), Some("GB"), Some("DE")] {
                let options = ScreenOptions {
                    lang: Some(lang),
                    preset,
                    country,
                    minor: true,
                    unverified: true,
                };
                for card in [full_card(&options, true, false), check_in_card(&options)] {
                    let text = card.text.to_lowercase();
                    let found = secret.iter().find(|word| text.contains(**word));
                    assert_eq!(found, None, "{lang}, {country:?}: {}", card.text);
                }
            }
        }
    }
}
