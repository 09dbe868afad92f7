//! A person in crisis gets the card whatever the daemon does.

#[cfg(test)]
mod screening {
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use countersign_client::{AgentClient, Endpoint, screen_message};
    use countersign_crisis::ScreenOptions;

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
}
