//! Telegram over real sockets, against a stand-in for its Bot API that fails as Telegram does.

#[cfg(test)]
#[expect(dead_code, reason = "each program of tests uses its part")]
mod fake_telegram;

#[cfg(test)]
mod telegram {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use countersign_channels::telegram::{self, UpdateMode};
    use countersign_channels::{
        Announcement, AnnouncementEvent, Channel, ChannelError, Ending, HookError,
    };
    use countersign_channels::{
        ChannelSettings, HookRequest, PersonReply, ReplyContent, ReplyOptions,
    };
    use countersign_types::id::Id;
    use countersign_types::tier::Tier;
    use countersign_types::time::Timestamp;
    use countersign_workflow::request::State;
    use serde_json::{Value, json};

    use crate::fake_telegram::{FakeTelegram, Fault, TOKEN, tap, text};

    const CHAT: i64 = 77;
    const SECRET: &str = "AbCdEfGhIjKlMnOpQrStUvWxYz_-0123";

    fn write(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }

    fn open(url: &str, hook: bool, allow_private: bool) -> Arc<dyn Channel> {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        let secret_file = folder.path().join("secret");
        write(&token_file, TOKEN);
        write(&secret_file, SECRET);
        let hook = hook.then(|| "https://approve.example.org/hooks/tg".to_owned());
        let settings = telegram::TelegramSettings {
            token_file,
            chat: CHAT,
            base_url: url.to_owned(),
            allow_private,
            timeout: Duration::from_secs(1),
            mode: hook.map_or(UpdateMode::Poll, |hook| UpdateMode::Webhook { hook, secret_file }),
        };
        ChannelSettings::Telegram(settings).open("tg", ChannelSettings::usual("telegram")).unwrap()
    }

    fn poller(server: &FakeTelegram) -> Arc<dyn Channel> {
        open(&server.url, false, true)
    }

    fn asked() -> Announcement {
        let now = Timestamp(1_794_700_000_000);
        Announcement {
            news: AnnouncementEvent::Asked,
            request: Id::parse("00000000000000000000000001").unwrap(),
            brief: "Deletes 214 files.".to_owned(),
            tool: "shell".to_owned(),
            tier: Tier::High,
            phrase: "olive-tractor".to_owned(),
            agent: "hermes".to_owned(),
            call: "$ rm -rf <b>*_[x](y)~/code/shop".to_owned(),
            ways: Some(ReplyOptions {
                approve: Some("a:00000000000000000000000001:AAAAAAAAAAAA".to_owned()),
                type_to_approve: None,
                deny: "d:00000000000000000000000001:BBBBBBBBBBBB".to_owned(),
                code: "482913".to_owned(),
            }),
            works: None,
            ..Announcement::notice(String::new(), now, "http://127.0.0.1:6001".to_owned())
        }
    }

    fn ended() -> Announcement {
        let (by, place) = ("ana".to_owned(), "in the web inbox".to_owned());
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Denied,
            by,
            place,
            drill: None,
            edited: None,
        });
        Announcement { news, ways: None, ..asked() }
    }

    async fn words(channel: &Arc<dyn Channel>) -> Result<Vec<PersonReply>, ChannelError> {
        channel.reply_receiver().unwrap().listen().await
    }

    #[tokio::test]
    async fn a_message_carries_the_call_as_it_is_and_two_buttons() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        channel.announce(&asked()).await.unwrap();
        let sent = &server.calls("sendMessage")[0].body;
        assert_eq!(sent["chat_id"], CHAT);
        assert!(sent["text"].as_str().unwrap().contains("rm -rf <b>*_[x](y)~/code/shop"));
        assert!(sent.get("parse_mode").is_none(), "nothing in a call is markup");
        assert_eq!(sent["link_preview_options"]["is_disabled"], true);
        let rows = sent["reply_markup"]["inline_keyboard"].as_array().unwrap();
        let data = |row: &Value| row[0]["callback_data"].as_str().unwrap().to_owned();
        let ways = asked().ways.unwrap();
        assert_eq!(rows.iter().map(data).collect::<Vec<_>>(), [ways.approve.unwrap(), ways.deny]);
        assert!(rows.iter().all(|row| data(row).len() <= 64));
    }

    #[tokio::test]
    async fn an_end_is_said_in_every_message_and_takes_the_buttons_away() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        channel.announce(&asked()).await.unwrap();
        let other = Announcement { request: Id::from_bytes([9; 16]), ..asked() };
        channel.announce(&other).await.unwrap();
        let escalated = Announcement { news: AnnouncementEvent::Escalated, ..asked() };
        let receipt = channel.announce(&escalated).await.unwrap();
        channel.withdraw(Some(&receipt), &ended()).await.unwrap();
        let edits = server.calls("editMessageText");
        let numbers: Vec<&Value> = edits.iter().map(|call| &call.body["message_id"]).collect();
        assert_eq!(numbers, [&json!(1), &json!(3)]);
        for edit in &edits {
            let text = edit.body["text"].as_str().unwrap();
            assert!(text.contains("denied by ana in the web inbox"), "{text}");
            assert!(!text.contains("rm -rf"), "{text}");
            assert_eq!(edit.body["reply_markup"], json!({ "inline_keyboard": [] }));
        }
        // Told again, Telegram says so; that is fine. Anything else is not.
        for (words, fine) in [
            ("Bad Request: message is not modified: specified new message content …", true),
            ("Bad Request: message to edit not found", true),
            ("Bad Request: message can't be edited", false),
        ] {
            server.fails("editMessageText", Fault::refuses(400, words, &Value::Null));
            let again = channel.withdraw(Some(&receipt), &ended()).await;
            assert_eq!(again.is_ok(), fine, "{words}");
        }
        // No one knows whether the question arrived: its end is told by itself, without buttons.
        channel.withdraw(None, &ended()).await.unwrap();
        assert!(server.calls("sendMessage")[3].body.get("reply_markup").is_none());
    }

    #[tokio::test]
    async fn failures_are_told_apart_and_never_show_the_token() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        let none = Value::Null;
        for (fault, permanent, pause) in [
            (Fault::refuses(429, "Too Many", &json!({ "retry_after": 17 })), false, Some(17)),
            (Fault::refuses(500, "Internal", &none), false, None),
            (Fault::Says(502, "<html>Bad Gateway</html>".to_owned()), false, None),
            (Fault::Says(200, "<html>a portal</html>".to_owned()), false, None),
            (Fault::Says(200, "{\"ok\":true}".to_owned()), false, None),
            (Fault::Breaks, false, None),
            (Fault::Hangs(Duration::from_secs(3)), false, None),
            (Fault::refuses(401, "Unauthorized", &none), true, None),
            (Fault::refuses(404, "Not Found", &none), true, None),
            (Fault::refuses(403, "Forbidden: bot was blocked by the user", &none), true, None),
            (Fault::refuses(400, &format!("Bad Request: {TOKEN}"), &none), true, None),
            (Fault::Says(302, String::new()), true, None),
        ] {
            server.fails("sendMessage", fault);
            let error = channel.announce(&asked()).await.unwrap_err();
            assert_eq!(error.permanent, permanent, "{error}");
            assert_eq!(error.retry_after.map(|pause| pause.as_secs()), pause, "{error}");
            assert!(!error.problem.contains("AAAA"), "{error}");
        }
        assert!(channel.announce(&asked()).await.is_ok());
        let inside = open(&server.url.replace("http:", "https:"), false, false);
        let error = inside.announce(&asked()).await.unwrap_err();
        assert!(error.permanent && error.problem.contains("allow_private"), "{error}");
        assert!(!format!("{channel:?}").contains("AAAA"));
    }

    #[tokio::test]
    async fn updates_are_confirmed_only_after_they_were_handed_over() {
        let server = FakeTelegram::start();
        let first = poller(&server);
        server.says(tap(77, 77, "a:1"));
        server.says(json!({ "message": "this cannot be read" }));
        server.says(tap(77, 77, "a:2"));
        let heard = words(&first).await.unwrap();
        let content: Vec<&ReplyContent> = heard.iter().map(|word| &word.content).collect();
        assert_eq!(
            content,
            [&ReplyContent::Button("a:1".to_owned()), &ReplyContent::Button("a:2".to_owned())]
        );
        assert!(server.calls("getUpdates")[0].body.get("offset").is_none());
        // Whoever heard them is gone before anything was done about them: they come again, and by
        // their keys they are the same.
        let second = poller(&server);
        assert_eq!(words(&second).await.unwrap(), heard);
        server.says(text(77, "/pending"));
        let next = words(&second).await.unwrap();
        assert_eq!(next[0].content, ReplyContent::Pending);
        assert_eq!(server.calls("getUpdates")[2].body["offset"], 4);
    }

    #[tokio::test]
    async fn updates_out_of_order_and_twice_are_all_handed_over_with_their_keys() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        let numbered = |number: i64| {
            let mut update = tap(77, 77, "d:1");
            update["update_id"] = json!(number);
            update
        };
        for number in [7, 5, 7] {
            server.delivers(numbered(number));
        }
        let keys: Vec<String> =
            words(&channel).await.unwrap().into_iter().map(|word| word.key).collect();
        assert_eq!(keys, ["7", "5", "7"]);
        server.delivers(numbered(6));
        words(&channel).await.unwrap();
        assert_eq!(server.calls("getUpdates")[1].body["offset"], 8);
    }

    #[tokio::test]
    async fn listening_says_what_is_wrong_and_goes_on() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        server.fails("getMe", Fault::refuses(401, "Unauthorized", &Value::Null));
        assert!(words(&channel).await.unwrap_err().problem.contains("token"));
        let conflict = Fault::refuses(409, "Conflict: terminated by other", &Value::Null);
        server.fails("getUpdates", conflict);
        assert!(words(&channel).await.unwrap_err().problem.contains("another program"));
        server.says(text(77, "/start AB12CD34"));
        assert_eq!(
            words(&channel).await.unwrap()[0].content,
            ReplyContent::Link("AB12CD34".to_owned())
        );
        let answers = channel.reply_receiver().unwrap();
        assert_eq!(answers.link_url("X1").unwrap(), "https://t.me/our_bot?start=X1");
    }

    #[tokio::test]
    async fn replies_go_to_who_spoke_and_strangers_cannot_use_the_bot_up() {
        let server = FakeTelegram::start();
        let channel = poller(&server);
        let answers = channel.reply_receiver().unwrap();
        server.says(tap(77, 77, "a:1"));
        server.says(text(77, "/pending"));
        let heard = words(&channel).await.unwrap();
        answers.reply(&heard[0], &"é".repeat(300)).await.unwrap();
        answers.reply(&heard[1], "Nothing is waiting.").await.unwrap();
        let toast = &server.calls("answerCallbackQuery")[0].body;
        assert_eq!(toast["callback_query_id"], "438277");
        assert_eq!(toast["text"].as_str().unwrap().chars().count(), 200);
        assert_eq!(toast["show_alert"], true);
        assert_eq!(server.calls("sendMessage")[0].body["reply_parameters"]["message_id"], 9);
        let late = "Bad Request: query is too old and response timeout expired";
        server.fails("answerCallbackQuery", Fault::refuses(400, late, &Value::Null));
        answers.reply(&heard[0], "Denied.").await.unwrap();
        for account in 100..150 {
            let stranger = PersonReply { reply_to: format!("m:{account}:1"), ..heard[1].clone() };
            answers.reply(&stranger, "Who are you?").await.unwrap();
        }
        assert_eq!(server.calls("sendMessage").len(), 1 + 30);
        answers.reply(&heard[1], "Nothing is waiting.").await.unwrap();
        assert_eq!(server.calls("sendMessage").len(), 1 + 30 + 1);
    }

    fn posted(
        channel: &Arc<dyn Channel>,
        secret: Option<&str>,
        body: &[u8],
    ) -> Result<usize, HookError> {
        let header = |name: &str| secret.filter(|_| name == "x-telegram-bot-api-secret-token");
        let now = Timestamp(1_794_700_000_000);
        let posted = HookRequest { url: "https://x/", header: &header, body, now };
        channel.reply_receiver().unwrap().receive(&posted).map(|heard| heard.replies.len())
    }

    #[tokio::test]
    async fn only_telegram_is_heard_at_the_hook() {
        let server = FakeTelegram::start();
        let channel = open(&server.url, true, true);
        let mut update = tap(77, 77, "a:1");
        update["update_id"] = json!(1);
        let body = update.to_string();
        assert_eq!(posted(&channel, Some(SECRET), body.as_bytes()), Ok(1));
        assert_eq!(posted(&channel, None, body.as_bytes()), Err(HookError::Forged));
        let mut accepted = 0;
        for number in 0..10_000_usize {
            let mut forged = SECRET.as_bytes().to_vec();
            let at = number % forged.len();
            match number % 4 {
                0 => forged[at] ^= 1 << (number % 7),
                1 => forged.truncate(at),
                2 => forged.push(b'a'),
                _ => forged.swap(at, (at + 1 + number / 64) % SECRET.len()),
            }
            let forged = String::from_utf8(forged).unwrap();
            if forged != SECRET {
                accepted += usize::from(posted(&channel, Some(&forged), body.as_bytes()).is_ok());
            }
        }
        assert_eq!(accepted, 0);
        assert_eq!(posted(&channel, Some(SECRET), b"{"), Err(HookError::Unreadable));
        assert_eq!(posted(&channel, Some(SECRET), b"[[[]]]"), Ok(0));
        let polling = poller(&server);
        assert_eq!(posted(&polling, Some(SECRET), body.as_bytes()), Err(HookError::NoHook));
        // It tells Telegram where the hook is, and then has nothing to ask for: it still waits when
        // a later message was sent.
        let later = async {
            let end = Instant::now() + Duration::from_mins(2);
            while server.calls("setWebhook").is_empty() {
                assert!(Instant::now() < end, "no setWebhook came");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            channel.announce(&asked()).await.unwrap()
        };
        tokio::select! {
            words = words(&channel) => panic!("it does not wait: {words:?}"),
            _ = later => {}
        }
        let hook = &server.calls("setWebhook")[0].body;
        assert_eq!(hook["secret_token"], SECRET);
        assert_eq!(hook["url"], "https://approve.example.org/hooks/tg");
        assert!(server.calls("getUpdates").is_empty());
    }
}
