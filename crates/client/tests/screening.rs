//! A person in crisis gets the card whatever the daemon does.

#[cfg(test)]
mod screening {
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use countersign_client::{AgentClient, Endpoint, ScreenedMessage, UserTexts, screen_message};
    use countersign_crisis::ScreenOptions;
    use serde_json::json;

    const SIGN: &str = "I want to kill myself tonight";

    fn options() -> ScreenOptions<'static> {
        ScreenOptions { country: Some("DE"), ..ScreenOptions::default() }
    }

    #[test]
    fn a_daemon_that_never_answers_does_not_hold_back_the_card() {
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(deaf.local_addr().unwrap().to_string());
        // The exchange itself would wait for half a minute.
        let began = Instant::now();
        let screened = AgentClient::new(endpoint, None).screen_message(SIGN, None, &options());
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert!(screened.card.unwrap().contains("0800 111 0 111"));
        assert_eq!(screened.daemon, None);
    }

    #[test]
    fn without_a_daemon_the_card_comes_and_a_calm_text_gets_none() {
        let screened = |text: &str| {
            screen_message(|| None, (text, Some("s")), &options(), Duration::from_mins(1))
        };
        assert!(screened(SIGN).card.unwrap().contains("0800 111 0 111"));
        assert_eq!(screened("please sort my photos").card, None);
    }

    #[test]
    fn the_caller_gets_what_the_user_sees() {
        let answer = json!({
            "card": { "text": "the card" }, "notice": { "text": "no answer\n\nthe card" },
            "takeover": { "notice": "a person writes", "messages": [
                { "number": 1, "at": 0, "text": "I am Ana." }, { "number": "2", "text": "x" },
                { "number": 2, "at": 0, "text": "Are you safe?" },
            ] },
        });
        let found = UserTexts::of(&answer);
        let all = ["no answer\n\nthe card", "a person writes", "I am Ana.", "Are you safe?"];
        assert_eq!(found.texts(0), all);
        assert_eq!(found.texts(1), [all[0], all[3]]);
        let screened = ScreenedMessage { card: Some("own card".to_owned()), daemon: None };
        assert_eq!(screened.for_user().texts(0), ["own card"]);
        for other in [json!(null), json!({ "takeover": null, "notice": null, "card": null })] {
            assert_eq!(UserTexts::of(&other), UserTexts::default());
        }
    }
}
