//! Webhooks over real sockets: signatures held against a second implementation, bad receivers.

#[cfg(test)]
mod webhooks {
    use std::fs::{self, Permissions};
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use countersign_channels::{
        Announcement, AnnouncementEvent, Channel, ChannelLimits, ChannelSettings, Ending, webhook,
    };
    use countersign_json::base64;
    use countersign_types::id::Id;
    use countersign_types::tier::Tier;
    use countersign_types::time::Timestamp;
    use countersign_workflow::request::{EscalationLevel, State};
    use sha2::{Digest as _, Sha256};

    const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn news() -> Announcement {
        Announcement {
            key: "00000000000000000000000001-7".to_owned(),
            news: AnnouncementEvent::Asked,
            at: Timestamp(1_794_700_000_000),
            now: Timestamp(1_794_700_001_000),
            request: Id::parse("00000000000000000000000001").unwrap(),
            brief: "Löscht 214 files below ~/code/shop.".to_owned(),
            tool: "shell".to_owned(),
            tier: Tier::High,
            phrase: "olive-tractor".to_owned(),
            agent: "hermes".to_owned(),
            session: "s1".to_owned(),
            deadline: Timestamp(1_794_700_041_000),
            level: EscalationLevel::First,
            crisis: false,
            inbox: "http://127.0.0.1:6001".to_owned(),
            call: String::new(),
            folded: 0,
            reasons: Vec::new(),
            ways: None,
            works: None,
        }
    }

    /// HMAC-SHA256 by the book (RFC 2104), apart from the one that signs.
    fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message);
        let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5C));
        outer.chain_update(inner.finalize()).finalize().to_vec()
    }

    /// Serves with these answers, one a connection; none of them means a connection that breaks.
    fn receiver(answers: Vec<Option<String>>) -> (String, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (heard, hears) = mpsc::channel();
        thread::spawn(move || {
            for (answer, stream) in answers.into_iter().zip(listener.incoming()) {
                let mut stream = stream.unwrap();
                let text = read(&mut stream);
                let _ = heard.send(text);
                if let Some(answer) = answer {
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        (address, hears)
    }

    fn read(stream: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        loop {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).unwrap();
            bytes.extend_from_slice(&part[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            if read == 0 || body.len() >= header(head, "content-length").parse().unwrap() {
                return text;
            }
        }
    }

    fn header(text: &str, name: &str) -> String {
        let line = text.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    }

    fn channel(url: String, allow_private: bool) -> std::sync::Arc<dyn Channel> {
        let folder = tempfile::tempdir().unwrap();
        let secret_file: PathBuf = folder.path().join("secret");
        fs::write(&secret_file, format!("whsec_{SECRET}\n")).unwrap();
        fs::set_permissions(&secret_file, Permissions::from_mode(0o600)).unwrap();
        let timeout = Duration::from_secs(1);
        let (callback, callback_secret_file) = (false, None);
        let settings = webhook::WebhookSettings {
            url,
            secret_file,
            callback,
            callback_secret_file,
            allow_private,
            timeout,
        };
        let limits = ChannelLimits { per_minute: 60, ..ChannelSettings::usual("webhook") };
        ChannelSettings::Webhook(settings).open("hook", limits).unwrap()
    }

    #[expect(clippy::unnecessary_wraps, reason = "a receiver may also give no answer")]
    fn answer(status: &str) -> Option<String> {
        Some(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"))
    }

    #[tokio::test]
    async fn what_arrives_is_signed_and_a_cloud_event() {
        let (address, heard) = receiver(vec![answer("204 No Content"), answer("200 OK")]);
        let hook = channel(format!("http://{address}/hook?team=ops"), true);
        let receipt = hook.announce(&news()).await.unwrap();
        let text = heard.recv().unwrap();
        // So that another implementation, such as the standard's own, can be held against it.
        if let Ok(path) = std::env::var("KEEP_WEBHOOK") {
            fs::write(path, &text).unwrap();
        }
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /hook?team=ops HTTP/1.1\r\n"), "{head}");
        assert_eq!(header(head, "host"), address);
        let (id, time) = (header(head, "webhook-id"), header(head, "webhook-timestamp"));
        assert_eq!((id.as_str(), time.as_str()), ("00000000000000000000000001-7", "1794700001"));
        let signed =
            hmac(&base64::decode(SECRET).unwrap(), format!("{id}.{time}.{body}").as_bytes());
        assert_eq!(header(head, "webhook-signature"), format!("v1,{}", base64::encode(&signed)));
        assert!(header(head, "content-type").starts_with("application/cloudevents+json"));
        let event: serde_json::Value = serde_json::from_str(body).unwrap();
        for (member, value) in [
            ("specversion", "1.0"),
            ("id", "00000000000000000000000001-7"),
            ("type", "countersign.request.asked"),
            ("subject", "00000000000000000000000001"),
            ("source", "http://127.0.0.1:6001"),
            ("time", "2026-11-14T23:46:40.000Z"),
        ] {
            assert_eq!(event[member], value);
        }
        let news = AnnouncementEvent::Ended(Ending {
            state: State::Approved,
            by: "ana".to_owned(),
            place: String::new(),
            drill: None,
            edited: None,
        });
        let end = Announcement { news, ..self::news() };
        hook.withdraw(Some(&receipt), &end).await.unwrap();
        let text = heard.recv().unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        let event: serde_json::Value = serde_json::from_str(body).unwrap();
        let ended = serde_json::json!({
            "by": "ana", "drill": null, "edited": null, "place": "", "state": "approved",
        });
        assert_eq!(event["data"]["ended"], ended);
    }

    #[tokio::test]
    async fn answers_mean_done_again_or_never() {
        for (status, permanent) in [
            ("500 X", false),
            ("503 X", false),
            ("429 X", false),
            ("408 X", false),
            ("301 X\r\nlocation: /x", true),
            ("307 X\r\nlocation: http://127.0.0.1:1/", true),
            ("400 X", true),
            ("401 X", true),
            ("404 X", true),
            ("410 X", true),
        ] {
            // A second connection would be a redirect that was followed.
            let (address, heard) = receiver(vec![answer(status), answer("200 OK")]);
            let error = channel(format!("http://{address}/"), true).announce(&news()).await;
            assert_eq!(error.unwrap_err().permanent, permanent, "{status}");
            assert_eq!(heard.try_iter().count(), 1, "{status}");
        }
        let (address, _heard) = receiver(vec![answer("503 X\r\nretry-after: 7")]);
        let error =
            channel(format!("http://{address}/"), true).announce(&news()).await.unwrap_err();
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    }

    #[tokio::test]
    async fn a_receiver_that_hangs_breaks_off_or_is_not_there_is_tried_again() {
        let (address, _heard) = receiver(vec![None]);
        let error =
            channel(format!("http://{address}/"), true).announce(&news()).await.unwrap_err();
        assert!(!error.permanent, "{error}");
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        for scheme in ["http", "https"] {
            let hook = channel(format!("{scheme}://{address}/"), true);
            assert!(!hook.announce(&news()).await.unwrap_err().permanent);
        }
        drop(silent);
        let error =
            channel(format!("http://{address}/"), true).announce(&news()).await.unwrap_err();
        assert!(!error.permanent, "{error}");
        let refused = "connection refused: no server listens at this address and port";
        assert_eq!(error.to_string(), refused);
    }

    #[tokio::test]
    async fn inner_addresses_are_refused_whatever_they_are_called() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0x7f.1",
            "2130706433",
            "0.0.0.0",
        ] {
            let error = channel(format!("http://{host}:{port}/"), false).announce(&news()).await;
            let error = error.unwrap_err();
            // A resolver may not know the odd forms at all; no one is ever connected to.
            let unresolved = error.problem.contains("could not be resolved");
            assert!(error.permanent || unresolved, "{host}: {error}");
            assert!(listener.accept().is_err(), "{host} was reached");
        }
    }
}
