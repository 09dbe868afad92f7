//! The texts of SMS messages, and how replies are parsed.

use countersign_types::time::Timestamp;
use countersign_workflow::request::State;

use super::*;
use crate::announcement::Ending;
use crate::announcement::tests::asked;
use crate::{ReplyContent, RequestRef};

fn phone(hook: bool) -> Sms {
    Sms {
        name: "sms".to_owned(),
        max_tier: Tier::Critical,
        api: HttpUrl::parse("https://api.example.org").unwrap(),
        account: format!("AC{}", "0".repeat(32)),
        token: Token::from_text("12345"),
        from: "+15550000001".to_owned(),
        to: "+15550000002".to_owned(),
        hook_url: hook.then(|| "https://approve.example.org/hooks/sms".to_owned()),
        client: Client::new(false),
        timeout: Duration::from_secs(1),
    }
}

#[test]
fn a_text_says_who_what_and_how_to_answer() {
    let fitted = phone(true).text(&asked());
    assert_eq!(
        fitted.text,
        "HIGH: hermes asks for approval. Deletes 214 files below ~/code/shop.\nrm -rf ~/code/shop\n\
         olive-tractor. Decide within 40 s, or the request is denied: \
         http://127.0.0.1:6001/requests/00000000000000000000000001\n\
         Reply DENY 482913 or APPROVE 482913"
    );
    assert!(fitted.whole && segments(&fitted.text) == 2);
    let told = phone(false).text(&asked()).text;
    assert!(!told.contains("Reply"), "there is no hook: {told}");
}

#[test]
fn three_messages_are_enough_whatever_an_agent_does() {
    let long = |letter: &str| letter.repeat(2_000);
    for (call, brief, agent) in [
        (long("x"), long("x"), long("x")),
        (long("ж"), long("ж"), long("ж")),
        (long("\u{1f534}"), long("\u{202e}"), long("~")),
        (String::new(), long("ж"), "ж".to_owned()),
    ] {
        for hook in [true, false] {
            let inbox = format!("https://{}.example.org", "x".repeat(100));
            let news = Announcement {
                call: call.clone(),
                brief: brief.clone(),
                agent: agent.clone(),
                inbox,
                ..asked()
            };
            let fitted = phone(hook).text(&news);
            assert!(segments(&fitted.text) <= MAX_SEGMENTS && !fitted.whole, "{}", fitted.text);
            assert!(fitted.text.contains(&news.link()), "{}", fitted.text);
            assert!(!fitted.text.contains("APPROVE"), "{}", fitted.text);
        }
    }
}

#[test]
fn without_the_call_nothing_says_yes() {
    for news in [
        Announcement { call: String::new(), ..asked() },
        Announcement { folded: 7, ..asked() },
        Announcement { call: "x".repeat(400), ..asked() },
    ] {
        let fitted = phone(true).text(&news);
        assert!(!fitted.whole && fitted.text.ends_with("Reply DENY 482913"), "{}", fitted.text);
    }
}

#[test]
fn the_end_is_one_short_message() {
    let (by, place) = ("ana".to_owned(), "in the web inbox".to_owned());
    let news = AnnouncementEvent::Ended(Ending {
        state: State::Denied,
        by,
        place,
        drill: None,
        edited: None,
    });
    let end = Announcement { news, ways: None, ..asked() };
    let text = phone(true).text(&end).text;
    assert_eq!(text, "HIGH: denied by ana in the web inbox.\nolive-tractor");
}

#[test]
fn a_yes_needs_the_digits_and_a_no_does_not() {
    let which = |name: &str, reason: &str| RequestRef { name: name.into(), reason: reason.into() };
    for (text, content) in [
        ("YES 482913", ReplyContent::Approve(which("482913", ""))),
        (" yes  482913 it is fine ", ReplyContent::Approve(which("482913", "it is fine"))),
        ("Yes olive-tractor 482913", ReplyContent::Approve(which("482913", "olive-tractor"))),
        ("YES olive-tractor", ReplyContent::Help),
        ("YES", ReplyContent::Help),
        ("YES 48291", ReplyContent::Help),
        ("YES 4829133", ReplyContent::Help),
        ("NO olive-tractor", ReplyContent::Deny(which("olive-tractor", ""))),
        ("no", ReplyContent::Deny(which("", ""))),
        ("No 482913 not today", ReplyContent::Deny(which("482913", "not today"))),
        ("PENDING", ReplyContent::Pending),
        ("LINK AB12-CD34", ReplyContent::Link("AB12-CD34".to_owned())),
        ("yesterday", ReplyContent::Help),
        ("", ReplyContent::Help),
    ] {
        assert_eq!(read(text).0, content, "{text}");
    }
    let received = PersonReply {
        account: "+1".to_owned(),
        display_name: String::new(),
        content: ReplyContent::Help,
        key: String::new(),
        reply_to: read("YES olive-tractor").1.to_owned(),
    };
    let response = phone(true).hook_response(&received, "help").unwrap();
    assert!(response.body.contains("six digits"), "{}", response.body);
}

fn receive(phone: &Sms, form: &str, signature: Option<&str>) -> Result<ReceivedReplies, HookError> {
    let header = |name: &str| if name == "x-twilio-signature" { signature } else { None };
    let now = Timestamp(0);
    phone.receive(&HookRequest { url: "", header: &header, body: form.as_bytes(), now })
}

/// As Twilio would sign it.
fn signed(phone: &Sms, form: &str) -> String {
    let mut text = phone.hook_url.clone().unwrap_or_default();
    for (name, value) in Form::read(form.as_bytes()).unwrap().fields() {
        text.push_str(name);
        text.push_str(value);
    }
    let algorithm = ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY;
    let key = ring::hmac::Key::new(algorithm, phone.token.expose().as_bytes());
    base64::encode(ring::hmac::sign(&key, text.as_bytes()).as_ref())
}

#[test]
fn only_what_twilio_signed_for_our_account_is_heard() {
    let phone = phone(true);
    let good = format!("AccountSid={}&From=%2B1555&Body=NO&MessageSid=SM1", phone.account);
    let signature = signed(&phone, &good);
    let heard = receive(&phone, &good, Some(&signature)).unwrap();
    let received = &heard.replies[0];
    assert_eq!((received.account.as_str(), received.key.as_str()), ("+1555", "SM1"));
    assert_eq!(heard.response.body.matches("<Message>").count(), 0, "no reply");
    assert_eq!(receive(&phone, &good, None), Err(HookError::Forged));
    let changed = good.replace("Body=NO", "Body=YES");
    assert_eq!(receive(&phone, &changed, Some(&signature)), Err(HookError::Forged));
    let other = good.replace("AC0", "AC1");
    assert_eq!(receive(&phone, &other, Some(&signed(&phone, &other))), Err(HookError::Forged));
    let closed = self::phone(false);
    assert_eq!(receive(&closed, &good, Some(&signature)), Err(HookError::NoHook));
}

#[test]
fn a_message_that_was_not_delivered_is_trouble() {
    let phone = phone(true);
    for (status, problem) in [
        ("MessageStatus=undelivered&ErrorCode=30003", Some("(error 30003)")),
        ("MessageStatus=failed&ErrorCode=%3Cb%3E", Some("deliver a message")),
        ("MessageStatus=delivered", None),
        ("Body=failed&From=%2B1555", None),
    ] {
        let form = format!("AccountSid={}&MessageSid=SM1&{status}", phone.account);
        let signature = signed(&phone, &form);
        let header = |name: &str| (name == "x-twilio-signature").then_some(signature.as_str());
        let now = Timestamp(0);
        let posted = HookRequest { url: "", header: &header, body: form.as_bytes(), now };
        let trouble = phone.delivery_failure(&posted);
        assert!(trouble.iter().all(|trouble| trouble.message == "SM1"));
        let trouble = trouble.map(|trouble| trouble.error.problem);
        assert_eq!(trouble.is_some(), problem.is_some(), "{status}");
        assert!(trouble.unwrap_or_default().ends_with(problem.unwrap_or_default()), "{status}");
        if status.starts_with("MessageStatus") {
            assert!(phone.receive(&posted).unwrap().replies.is_empty());
        }
    }
}

#[test]
fn what_is_replied_cannot_become_markup() {
    let response = twiml("<Redirect>http://x/</Redirect> & more");
    assert!(response.body.contains("&lt;Redirect&gt;http://x/&lt;/Redirect&gt; &amp; more"));
    assert!(twiml(&"x".repeat(5_000)).body.len() < 600);
}
