//! Web Push over real sockets: what a push service gets, and what becomes of its answers. The push
//! service here is a stand-in written from RFC 8030.

#[cfg(test)]
mod pushes {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;

    use countersign_channels::webpush::{self, Browser, Browsers, VapidKey, WebPush};
    use countersign_channels::{Announcement, Channel as _, ChannelSettings};
    use countersign_json::base64::decode_url;
    use countersign_types::tier::Tier;
    use countersign_types::time::Timestamp;

    /// Answers one connection with each of these.
    fn service(answers: Vec<&'static str>) -> (String, mpsc::Receiver<(String, usize)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (heard, hears) = mpsc::channel();
        thread::spawn(move || {
            for (answer, stream) in answers.into_iter().zip(listener.incoming()) {
                let mut stream = stream.unwrap();
                let mut bytes = Vec::new();
                let (head, length) = loop {
                    let mut part = [0; 4096];
                    let read = stream.read(&mut part).unwrap();
                    bytes.extend_from_slice(&part[..read]);
                    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
                    let Some(end) = end else { continue };
                    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
                    let length = header(&head, "content-length").parse::<usize>().unwrap();
                    if bytes.len() >= end + 4 + length {
                        break (head, length);
                    }
                };
                heard.send((head, length)).unwrap();
                let text = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
                let _ = stream.write_all(text.as_bytes());
            }
        });
        (address, hears)
    }

    fn header(head: &str, name: &str) -> String {
        let line = head.lines().find(|line| line.starts_with(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {head}")).split_once(": ").unwrap().1.to_owned()
    }

    fn browser(address: &str, path: &str) -> Browser {
        // The browser of RFC 8291, section 5.
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkN\
                   toIAiw4";
        Browser {
            endpoint: format!("http://{address}/{path}"),
            public_key: decode_url(key).unwrap(),
            secret: decode_url("BTBZMqHH6r4Tts7J_aSIgg").unwrap(),
        }
    }

    fn channel(browsers: &[Browser], allow_private: bool) -> (Arc<Browsers>, WebPush) {
        let shared = Arc::new(Browsers::default());
        shared.set_key(VapidKey::read(&VapidKey::generate().unwrap()).unwrap());
        shared.set(browsers.to_vec());
        let settings = webpush::WebPushSettings { contact: None, allow_private };
        let limits = ChannelSettings::usual("webpush");
        let push = WebPush::new("webpush", limits, &settings, Arc::clone(&shared));
        (shared, push)
    }

    fn news() -> Announcement {
        let now = Timestamp(1_794_700_000_000);
        let mut news = Announcement::notice(String::new(), now, "http://x".to_owned());
        news.news = countersign_channels::AnnouncementEvent::Asked;
        news.tier = Tier::Critical;
        news.deadline = Timestamp(now.0 + 40_500);
        news
    }

    #[tokio::test]
    async fn the_service_is_told_how_long_how_urgent_and_by_whom() {
        let (address, heard) = service(vec!["201 Created"]);
        let (_, push) = channel(&[browser(&address, "one")], true);
        push.announce(&news()).await.unwrap();
        let (head, length) = heard.recv().unwrap();
        assert!(head.starts_with("post /one http/1.1"), "{head}");
        assert_eq!(header(&head, "ttl"), "41");
        assert_eq!(header(&head, "urgency"), "high");
        assert_eq!(header(&head, "content-encoding"), "aes128gcm");
        assert!(header(&head, "topic").len() <= 32);
        assert!(header(&head, "authorization").starts_with("vapid t="));
        assert!((100..=4096).contains(&length));
    }

    #[tokio::test]
    async fn a_browser_that_is_gone_is_not_called_again() {
        let (first, _heard) = service(vec!["410 Gone"]);
        let (second, heard) = service(vec!["201 Created", "404 Not Found"]);
        let list = [browser(&first, "one"), browser(&second, "two")];
        let (shared, push) = channel(&list, true);
        push.announce(&news()).await.unwrap();
        assert_eq!(shared.gone().await, [list[0].endpoint.clone()]);
        let error = push.announce(&news()).await.unwrap_err();
        assert!(error.permanent && error.problem.contains("has expired"), "{error}");
        assert_eq!(shared.gone().await, [list[1].endpoint.clone()]);
        assert!(!shared.any());
        let error = push.announce(&news()).await.unwrap_err();
        assert!(error.permanent && error.problem.contains("no browser"), "{error}");
        assert_eq!(heard.iter().count(), 2);
    }

    #[tokio::test]
    async fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
        for (answer, permanent, pause) in [
            ("429 Too Many Requests\r\nretry-after: 7", false, Some(Duration::from_secs(7))),
            ("500 Internal Server Error", false, None),
            ("503 Service Unavailable\r\nretry-after: 2", false, Some(Duration::from_secs(2))),
            ("400 Bad Request", true, None),
            ("403 Forbidden", true, None),
            ("413 Payload Too Large", true, None),
            ("302 Found\r\nlocation: http://127.0.0.1/", true, None),
        ] {
            let (address, _heard) = service(vec![answer]);
            let (shared, push) = channel(&[browser(&address, "one")], true);
            let error = push.announce(&news()).await.unwrap_err();
            assert_eq!((error.permanent, error.retry_after), (permanent, pause), "{answer}");
            assert!(shared.any(), "{answer}: only 404 and 410 mean that it is gone");
        }
    }

    #[tokio::test]
    async fn one_that_is_reached_is_enough_and_is_not_called_twice() {
        // One service does not answer in time, one fails; neither keeps the third from being told.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let (failing, _) = service(vec!["500 Internal Server Error"]);
        let (good, heard) = service(vec!["201 Created"]);
        let slow = silent.local_addr().unwrap().to_string();
        let list = [browser(&slow, "one"), browser(&failing, "two"), browser(&good, "three")];
        let (_, push) = channel(&list, true);
        let telling = tokio::spawn(async move { push.announce(&news()).await });
        let told = tokio::task::spawn_blocking(move || heard.recv_timeout(Duration::from_mins(1)));
        assert!(told.await.unwrap().is_ok());
        drop(silent);
        assert!(telling.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn nothing_inside_is_reached_unless_an_operator_says_so() {
        let (address, heard) = service(vec!["201 Created"]);
        let (_, push) = channel(&[browser(&address, "one")], false);
        let error = push.announce(&news()).await.unwrap_err();
        assert!(error.permanent && error.problem.contains("private"), "{error}");
        assert!(heard.try_recv().is_err());
    }
}
