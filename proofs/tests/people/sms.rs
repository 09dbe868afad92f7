//! SMS, against a stand-in for Twilio that signs as Twilio's documentation says.

use std::path::Path;

use countersign_json::base64;
use ring::hmac;

use crate::fake_server::{
    FakeServer, HIGH, MEDIUM, Manner, SECRET, installation, installation_with, median_to_message,
    mutated, private, until,
};
use crate::fixture::{Fixture, alone, report_figures, shared, size};

const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";
const TOKEN: &str = "0123456789abcdef";
const HOOK: &str = "https://approve.example.org/hooks/sms";
const PHONE: &str = "+15550000002";

fn channel(url: &str, folder: &Path) -> String {
    let token = private(folder, "twilio.token", TOKEN);
    format!(
        "[channels.sms]\nkind = \"sms\"\naccount = \"{ACCOUNT}\"\ntoken_file = {token}\n\
         from = \"+15550000001\"\nto = \"{PHONE}\"\nbase_url = \"{url}\"\nhook_url = \"{HOOK}\"\n\
         allow_private = true\ntimeout_seconds = 1\nper_minute = 6000\ndetails = true\n"
    )
}

fn twilio() -> FakeServer {
    FakeServer::start(201, "{\"sid\":\"SM1\",\"status\":\"queued\"}")
}

fn encode(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(letter).collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// A form and Twilio's signature over it.
fn signed(fields: &[(&str, &str)]) -> (String, String) {
    let mut sorted = fields.to_vec();
    sorted.sort_unstable();
    let text: String = sorted.iter().flat_map(|(name, value)| [*name, *value]).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN.as_bytes());
    let tag = hmac::sign(&key, format!("{HOOK}{text}").as_bytes());
    let form: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    (form.join("&"), base64::encode(tag.as_ref()))
}

fn post(fixture: &Fixture, (form, signature): &(String, String)) -> (u16, String) {
    fixture.hook("sms", &[("x-twilio-signature", signature)], form)
}

/// Somebody texts us; what they are texted back.
fn text(fixture: &Fixture, from: &str, key: &str, body: &str) -> String {
    let fields = [
        ("MessageSid", key),
        ("AccountSid", ACCOUNT),
        ("From", from),
        ("To", "+15550000001"),
        ("Body", body),
        ("SmsStatus", "received"),
        ("NumMedia", "0"),
    ];
    let (status, answer) = post(fixture, &signed(&fields));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("<Response>"), "{answer}");
    let inside = answer.split_once("<Message>").map(|(_, rest)| rest.to_owned());
    inside.map_or(String::new(), |rest| rest.split_once("</Message>").unwrap().0.to_owned())
}

/// The text that was sent about a request.
fn told(twilio: &FakeServer, phrase: &str) -> String {
    let mut found = String::new();
    until("the question", || {
        let all = twilio.got();
        let bodies = all.iter().map(|got| {
            let body = got.body.split('&').find_map(|field| field.strip_prefix("Body="));
            decode(body.unwrap())
        });
        found = bodies.rev().find(|body| body.contains(phrase)).unwrap_or_default();
        !found.is_empty()
    });
    found
}

fn digits(text: &str) -> &str {
    let (_, after) = text.split_once("Reply DENY ").unwrap();
    after.get(..6).unwrap()
}

#[test]
fn a_phone_is_linked_told_and_answers() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let twilio = twilio();
    let fixture = installation(folder.path(), "sms", &channel(&twilio.url(), folder.path()));
    let asked = fixture.ask(MEDIUM);
    let phrase = asked["phrase"].as_str().unwrap();
    let message = told(&twilio, phrase);
    fixture.wait_for_delivery_record(&asked);
    let got = twilio.wait(1).remove(0);
    let login = base64::encode(format!("{ACCOUNT}:{TOKEN}").as_bytes());
    assert!(got.head.contains(&format!("/2010-04-01/Accounts/{ACCOUNT}/Messages.json")));
    assert!(got.head.contains(&format!("Basic {login}")), "{}", got.head);
    assert!(got.body.contains("To=%2B15550000002&From=%2B15550000001&Body="), "{}", got.body);
    assert!(message.contains(MEDIUM) && message.contains("or APPROVE"), "{message}");
    let code = digits(&message);

    // A stranger, even one with the digits.
    let reply = text(&fixture, "+15559999999", "SM10", &format!("APPROVE {code}"));
    assert!(reply.contains("not linked to a person") && reply.contains("LINK"), "{reply}");
    assert_eq!(fixture.state(&asked), "pending");
    let link = fixture.code("sms");
    assert!(text(&fixture, PHONE, "SM11", &format!("link {link}")).starts_with("Linked."));
    assert!(text(&fixture, PHONE, "SM12", "Pending").contains(phrase));
    // The agent knows the two words as well, and a sender's number can be forged.
    let reply = text(&fixture, PHONE, "SM13", &format!("APPROVE {phrase}"));
    assert!(reply.contains("six digits"), "{reply}");
    assert_eq!(fixture.state(&asked), "pending");
    // A new link approves nothing that was asked before it.
    let reply = text(&fixture, PHONE, "SM13b", &format!("Yes {code}"));
    assert!(reply.contains("newer than the request"), "{reply}");
    assert_eq!(fixture.state(&asked), "pending");
    // It may always deny.
    assert!(text(&fixture, PHONE, "SM13c", &format!("NO {code}")).starts_with("Denied."));
    let asked = fixture.ask("systemctl restart redis");
    let message = told(&twilio, asked["phrase"].as_str().unwrap());
    fixture.wait_for_delivery_record(&asked);
    let code = digits(&message);
    let reply = text(&fixture, PHONE, "SM14", &format!("Yes {code} go ahead"));
    assert!(reply.starts_with("Approved."), "{reply}");
    assert_eq!(fixture.state(&asked), "approved");
    // The same text delivered twice is heard once; a second answer changes nothing.
    assert_eq!(text(&fixture, PHONE, "SM14", &format!("Yes {code} go ahead")), "");
    let reply = text(&fixture, PHONE, "SM15", &format!("NO {code}"));
    assert!(reply.contains("No pending request"), "{reply}");
    assert_eq!(fixture.state(&asked), "approved");

    let grave = fixture.ask(HIGH);
    let message = told(&twilio, grave["phrase"].as_str().unwrap());
    fixture.wait_for_delivery_record(&grave);
    assert!(!message.contains("APPROVE"), "HIGH needs more than being reached: {message}");
    let reply = text(&fixture, PHONE, "SM16", &format!("APPROVE {}", digits(&message)));
    assert!(!reply.starts_with("Approved."), "{reply}");
    assert_eq!(fixture.state(&grave), "pending");
    assert!(text(&fixture, PHONE, "SM17", "no").starts_with("Denied."));
    assert_eq!(fixture.state(&grave), "denied");
}

#[test]
fn no_forged_or_replayed_text_counts() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let twilio = twilio();
    let fixture = installation(folder.path(), "sms", &channel(&twilio.url(), folder.path()));
    let link = fixture.code("sms");
    assert!(text(&fixture, PHONE, "SM1", &format!("LINK {link}")).starts_with("Linked."));
    let asked = fixture.ask(MEDIUM);
    let message = told(&twilio, asked["phrase"].as_str().unwrap());
    fixture.wait_for_delivery_record(&asked);
    let yes = format!("APPROVE {}", digits(&message));
    let (count, mut accepted) = (size(1_000, 10_000), 0);
    let replay =
        [("MessageSid", "SM1"), ("AccountSid", ACCOUNT), ("From", PHONE), ("Body", yes.as_str())];
    for number in 0..count {
        let key = format!("SM-{number}");
        let fields = [
            ("MessageSid", key.as_str()),
            ("AccountSid", ACCOUNT),
            ("From", PHONE),
            ("Body", &yes),
        ];
        let (form, signature) = signed(&fields);
        let (status, answer) = match number % 6 {
            0 => post(&fixture, &(form, mutated(&signature, number))),
            1 => post(&fixture, &(mutated(&form, number), signature)),
            2 => post(&fixture, &(format!("{form}&x={number}"), signature)),
            3 => fixture.hook("sms", &[], &form),
            4 => {
                let other = [("MessageSid", key.as_str()), ("AccountSid", "AC1"), ("Body", &yes)];
                post(&fixture, &signed(&other))
            }
            // A name that was heard before.
            _ => post(&fixture, &signed(&replay)),
        };
        assert_eq!(status, if number % 6 == 5 { 200 } else { 401 }, "{number}: {answer}");
        accepted += usize::from(answer.contains("<Message>"));
    }
    assert_eq!((accepted, fixture.state(&asked).as_str()), (0, "pending"));
    // The true one still counts.
    assert!(text(&fixture, PHONE, "SM2", &yes).starts_with("Approved."));
    report_figures(&format!("sms: {count} forged or replayed texts, {accepted} accepted"));
}

#[test]
fn what_does_not_arrive_is_known() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let twilio = twilio();
    let fixture = installation(folder.path(), "sms", &channel(&twilio.url(), folder.path()));
    twilio.will(&[Manner::Answers(429, ""), Manner::Answers(503, ""), Manner::BreaksOff]);
    let asked = fixture.ask(MEDIUM);
    let got = twilio.wait(4);
    assert!(got[3].at - got[0].at >= std::time::Duration::from_secs(7), "1, 2 and 4 s apart");
    until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "arrived");
    assert!(decode(&got[0].body).contains(&format!("&StatusCallback={HOOK}")));
    let status = [
        ("MessageSid", "SM1"),
        ("AccountSid", ACCOUNT),
        ("MessageStatus", "undelivered"),
        ("ErrorCode", "30003"),
    ];
    let (form, signature) = signed(&status);
    assert_eq!(post(&fixture, &(form.clone(), mutated(&signature, 3))).0, 401);
    assert_eq!(fixture.problem("sms"), "", "a forged report is none");
    assert_eq!(post(&fixture, &(form, signature)).0, 200);
    assert!(fixture.problem("sms").contains("30003"), "{}", fixture.problem("sms"));
    twilio.will(&[Manner::Answers(400, "")]);
    let refused = fixture.ask(&format!("{MEDIUM} # 2"));
    until("the record", || fixture.look(&refused)["deliveries"][0]["state"] == "failed");
}

/// What Twilio says of a message that it had taken.
fn receipt<'a>(message: &'a str, status: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("MessageSid", message),
        ("AccountSid", ACCOUNT),
        ("MessageStatus", status),
        ("ErrorCode", "30003"),
    ]
}

#[test]
fn a_text_that_was_lost_opens_the_next_level_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (twilio, next) = (twilio(), FakeServer::start(200, ""));
    let secret = private(folder.path(), "next.secret", &format!("whsec_{SECRET}"));
    let channels = format!(
        "{}[channels.next]\nkind = \"webhook\"\nurl = \"{}/\"\nsecret_file = {secret}\n\
         allow_private = true\n",
        channel(&twilio.url(), folder.path()),
        next.url()
    );
    let levels = "first = [\"sms\"]\nnext = [\"next\"]";
    let fixture = Fixture::new(installation_with(folder.path(), levels, &channels));
    let asked = fixture.ask(MEDIUM);
    fixture.wait_for_delivery_record(&asked);
    let good = signed(&receipt("SM1", "undelivered"));
    assert_eq!(post(&fixture, &(good.0.clone(), mutated(&good.1, 5))).0, 401, "forged");
    // Had one of these counted, its code would be on record in the place of the true one.
    for mut other in [receipt("SM1", "delivered"), receipt("SM2", "failed")] {
        other[3].1 = "30099";
        assert_eq!(post(&fixture, &signed(&other)).0, 200);
    }
    assert!(next.got().is_empty() && fixture.look(&asked)["deliveries"][0]["state"] == "arrived");

    let since = std::time::Instant::now();
    assert_eq!(post(&fixture, &good).0, 200);
    let told = next.wait(1).remove(0);
    let took = told.at.saturating_duration_since(since);
    assert_eq!(told.json()["data"]["request"], asked["id"]);
    until("the record", || {
        let deliveries = fixture.look(&asked)["deliveries"].clone();
        let of = |name: &str| {
            deliveries.as_array().unwrap().iter().find(|one| one["channel"] == name).cloned()
        };
        let lost = of("sms").is_some_and(|sms| {
            sms["state"] == "failed" && sms["detail"].as_str().unwrap().contains("30003")
        });
        lost && of("next").is_some_and(|next| next["state"] == "arrived")
    });
    let story = fixture.owner_client().get("/v1/ledger/entries?from=0&limit=500").unwrap().body;
    let story = story["entries"].as_array().unwrap();
    let about = |kind: &str| {
        let fits =
            |entry: &&serde_json::Value| entry["kind"] == kind && entry["request"] == asked["id"];
        story.iter().filter(fits).cloned().collect::<Vec<_>>()
    };
    assert_eq!(about("notify_failed").len(), 1, "{story:?}");
    assert_eq!(about("notified").last().unwrap()["facts"]["early"], true);

    // Said again, or of a request that is over, it changes nothing.
    assert_eq!(post(&fixture, &good).0, 200);
    let late = fixture.ask(&format!("{MEDIUM} # late"));
    fixture.wait_for_delivery_record(&late);
    let (id, digest) = (late["id"].as_str().unwrap(), late["digest"].as_str().unwrap());
    crate::fixture::decide(&mut fixture.owner_client(), id, digest, false).unwrap();
    assert_eq!(post(&fixture, &good).0, 200);
    // Announcements are made in order: the next level is told of this one, and of none before it.
    twilio.will(&[Manner::Answers(400, ""); 2]);
    let refused = fixture.ask(&format!("{MEDIUM} # refused"));
    assert_eq!(next.wait(2)[1].json()["data"]["request"], refused["id"]);
    assert_eq!(fixture.look(&late)["deliveries"][0]["state"], "arrived");
    report_figures(&format!(
        "sms: a lost text, and the next level told {} ms later",
        took.as_millis()
    ));
}

#[test]
fn the_time_to_a_message_is_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let twilio = twilio();
    let fixture = installation(folder.path(), "sms", &channel(&twilio.url(), folder.path()));
    let middle = median_to_message(&fixture, |number| twilio.wait(number + 1)[number].at);
    report_figures(&format!("sms: request to message, median of 100: {middle:.1} ms"));
}
