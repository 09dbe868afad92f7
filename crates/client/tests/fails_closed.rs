//! A fake daemon with canned responses: only "approved" approves.

#[cfg(test)]
mod fails_closed {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::{Duration, Instant};

    use countersign_client::{
        AgentClient, CallRequest, DaemonKey, Endpoint, Error, Outcome, PeopleClient, RequestStatus,
    };
    use countersign_json::base64;
    use countersign_json::canonical::Digest;
    use countersign_ledger::response_signature::{SignedExchange, write_public_key};
    use ed25519_dalek::{Signer as _, SigningKey};

    const ID: &str = "01hf3zq9x8y7w6v5t4s3r2q1p0";

    /// The requests that the fake daemon received: request line, headers and body.
    type Heard = Arc<Mutex<Vec<String>>>;

    /// The key of the daemon that the clients trust.
    fn daemon_key() -> SigningKey {
        SigningKey::from_bytes(&[7; 32])
    }

    fn trusted() -> Result<DaemonKey, Error> {
        DaemonKey::parse(&write_public_key(daemon_key().verifying_key().as_bytes()))
    }

    /// Makes the signature header of a response, from the request as it arrived.
    type Signer = fn(&SignedExchange<'_>) -> Option<String>;

    #[expect(clippy::unnecessary_wraps, reason = "a `Signer` may leave the signature out")]
    fn genuine(exchange: &SignedExchange<'_>) -> Option<String> {
        let signature = daemon_key().sign(exchange.signing_input().as_bytes());
        Some(base64::encode_url(&signature.to_bytes()))
    }

    /// The answer with a signature, as the daemon would sign it.
    fn signed(request: &str, answer: &str, signer: Signer) -> String {
        let (head, body) = request.split_once("\r\n\u{0}").unwrap_or((request, ""));
        let header = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim()
        };
        let mut line = head.split(' ');
        let (method, target) = (line.next().unwrap(), line.next().unwrap());
        let status = answer.get(9..12).and_then(|digits| digits.parse().ok());
        let (Some(status), Some((first, rest))) = (status, answer.split_once("\r\n")) else {
            return answer.to_owned();
        };
        let text = rest.split_once("\r\n\r\n").map_or("", |(_, text)| text);
        let text = if rest.starts_with("Transfer-Encoding: chunked") {
            text.split("\r\n").skip(1).step_by(2).collect()
        } else {
            text.to_owned()
        };
        let signature = signer(&SignedExchange {
            nonce: header("Countersign-Nonce: "),
            method,
            target,
            credential: header("Authorization: "),
            request: Digest::of(body.as_bytes()),
            status,
            response: Digest::of(text.as_bytes()),
        });
        match signature {
            Some(signature) => {
                format!("{first}\r\nCountersign-Signature: {signature}\r\n{rest}")
            }
            None => answer.to_owned(),
        }
    }

    /// Serves these responses, one per connection; an empty one closes the connection.
    fn serve(listener: TcpListener, answers: Vec<String>) -> Heard {
        serve_signed(listener, answers, genuine)
    }

    fn serve_signed(listener: TcpListener, answers: Vec<String>, signer: Signer) -> Heard {
        let heard = Heard::default();
        let log = Arc::clone(&heard);
        thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                let mut input = BufReader::new(stream);
                let (mut text, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    if input.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                        length = value.trim().parse().unwrap();
                    }
                    text.push_str(&line);
                }
                let mut body = vec![0; length];
                input.read_exact(&mut body).unwrap();
                let body = std::str::from_utf8(&body).unwrap();
                let answer = signed(&format!("{text}\u{0}{body}"), &answer, signer);
                text.push_str(body);
                log.lock().unwrap().push(text);
                let _ = input.get_mut().write_all(answer.as_bytes());
            }
        });
        heard
    }

    fn stand_in(answers: Vec<String>) -> (AgentClient, Heard) {
        stand_in_signed(answers, genuine)
    }

    fn stand_in_signed(answers: Vec<String>, signer: Signer) -> (AgentClient, Heard) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap().to_string());
        let agent = AgentClient::new(endpoint, Some("csa_x".to_owned())).trusting(trusted());
        (agent, serve_signed(listener, answers, signer))
    }

    #[test]
    fn only_the_pinned_key_is_believed() {
        let forgeries: [(&str, Signer); 9] = [
            ("no signature", |_| None),
            ("no base64", |_| Some("approved".to_owned())),
            ("zeros", |_| Some(base64::encode_url(&[0; 64]))),
            ("another key", |exchange| {
                let other = SigningKey::from_bytes(&[8; 32]);
                let signature = other.sign(exchange.signing_input().as_bytes());
                Some(base64::encode_url(&signature.to_bytes()))
            }),
            ("a replayed nonce", |exchange| {
                genuine(&SignedExchange { nonce: "an-earlier-nonce-of-the-client", ..*exchange })
            }),
            ("another call", |exchange| {
                genuine(&SignedExchange { request: Digest::of(b"{}"), ..*exchange })
            }),
            ("another request id", |exchange| {
                genuine(&SignedExchange { target: "/v1/requests/0/wait?seconds=20", ..*exchange })
            }),
            ("another agent", |exchange| {
                genuine(&SignedExchange { credential: "Bearer csa_y", ..*exchange })
            }),
            ("a changed decision", |exchange| {
                genuine(&SignedExchange { response: Digest::of(b"denied"), ..*exchange })
            }),
        ];
        let passed = || json(&document(None, "approved", Some("approved"), "a"));
        for (name, forgery) in forgeries {
            for answers in [vec![passed()], vec![ended("approved")], vec![pending(); 2]] {
                let (agent, _) = stand_in_signed(answers, forgery);
                let found = agent.ask(&question());
                assert!(matches!(found, Err(Error::Untrusted(_))), "{name}: {found:?}");
            }
            let redeemed = json(&format!("{{\"redeemed\":true,\"request\":\"{ID}\"}}"));
            let (agent, _) = stand_in_signed(vec![redeemed], forgery);
            let found = agent.redeem("permit", &question());
            assert!(matches!(found, Err(Error::Untrusted(_))), "{name}: {found:?}");
        }
    }

    #[test]
    fn without_a_pinned_key_no_daemon_is_believed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap().to_string());
        let health = json(r#"{"service":"countersign","pending":0}"#);
        let heard = serve(listener, vec![health, ended("approved")]);
        let found = AgentClient::new(endpoint, None).ask(&question());
        assert!(matches!(found, Err(Error::Untrusted(_))), "{found:?}");
        // The call would wait for a person although nobody waits for the answer.
        let heard = heard.lock().unwrap();
        assert!(heard.iter().all(|request| !request.starts_with("POST ")), "{heard:?}");
    }

    #[test]
    fn a_key_file_that_others_can_change_pins_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("daemon.pub");
        assert!(matches!(DaemonKey::read(&file), Err(Error::Untrusted(_))));
        std::fs::write(&file, trusted().unwrap().text()).unwrap();
        for (mode, is_read) in [(0o644, true), (0o664, false), (0o646, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(DaemonKey::read(&file).is_ok(), is_read, "{mode:o}");
        }
    }

    fn answer(status: &str, kind: &str, body: &str) -> String {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    fn json(body: &str) -> String {
        answer("200 OK", "application/json", body)
    }

    fn document(id: Option<&str>, state: &str, result: Option<&str>, digest: &str) -> String {
        let time = "2026-11-14T23:59:59.999Z";
        let decision = result.map(|result| {
            serde_json::json!({
                "result": result, "by": { "kind": "people", "people": ["ana"] },
                "channel": "web", "reason": "fine", "at": time,
            })
        });
        serde_json::json!({
            "id": id, "state": state, "decision": decision, "tool": "pay", "brief": "Pays.",
            "tier": "HIGH", "points": 3.2, "risk": 0.8, "confidence": 0.9,
            "phrase": "olive-tractor", "digest": digest, "raw_digest": "b", "both_bind": false,
            "agent": "bot", "session": "", "group": null, "crisis": false, "created": time,
            "deadline": time, "level": "first", "quorum": { "approve": 1, "deny": 1 },
            "approvals": 0, "permit": null, "permit_until": null, "edited_arguments": null,
            "observed": false,
        })
        .to_string()
    }

    fn pending() -> String {
        json(&document(Some(ID), "pending", None, "a"))
    }

    fn ended(state: &str) -> String {
        json(&document(Some(ID), state, Some(state), "a"))
    }

    fn question() -> CallRequest {
        let mut question = CallRequest::tool("pay", "{\"amount\": 5}").unwrap();
        question.timeout_seconds = Some(20);
        question.project = None;
        question
    }

    #[test]
    fn an_approval_arrives_whole() {
        let (agent, heard) = stand_in(vec![pending(), pending(), ended("approved")]);
        let Outcome::Approved(approval) = agent.ask(&question()).unwrap() else { panic!() };
        assert_eq!(approval.request().decided_by(), "ana");
        let heard = heard.lock().unwrap();
        assert!(heard[0].starts_with("POST /v1/requests?wait=0 HTTP/1.1\r\n"), "{}", heard[0]);
        assert!(heard[0].contains("Authorization: Bearer csa_x\r\n"));
        assert!(heard[0].ends_with("\"arguments\":{\"amount\": 5},\"timeout_seconds\":20}"));
        assert!(heard[1].starts_with(&format!("GET /v1/requests/{ID}/wait?seconds=")));
    }

    #[test]
    fn every_other_outcome_is_not_approved() {
        for (word, state) in [
            ("denied", RequestStatus::Denied),
            ("expired", RequestStatus::Expired),
            ("cancelled", RequestStatus::Cancelled),
        ] {
            let (agent, _) = stand_in(vec![pending(), ended(word)]);
            let outcome = agent.ask(&question()).unwrap();
            assert!(!outcome.is_approved());
            assert_eq!(outcome.request().state, state);
        }
    }

    #[test]
    fn a_call_that_passes_was_approved_by_the_rules() {
        let (agent, _) = stand_in(vec![json(&document(None, "approved", Some("approved"), "a"))]);
        assert!(agent.ask(&question()).unwrap().is_approved());
    }

    #[test]
    fn an_invalid_response_is_an_error() {
        let good = document(Some(ID), "approved", Some("approved"), "a");
        let cut = json(&good);
        let doubled = good.replacen("{\"", "{\"state\":\"approved\",\"", 1);
        for (name, bad) in [
            ("another word", json(&document(Some(ID), "allowed", None, "a"))),
            ("no decision", json(&document(Some(ID), "approved", None, "a"))),
            ("two minds", json(&document(Some(ID), "approved", Some("denied"), "a"))),
            ("still open but decided", json(&document(Some(ID), "pending", Some("approved"), "a"))),
            ("another request", json(&document(Some("0"), "approved", Some("approved"), "a"))),
            ("another call", json(&document(Some(ID), "approved", Some("approved"), "z"))),
            ("a doubled key", json(&doubled)),
            ("another field name", json("{\"status\":\"approved\"}")),
            ("true", json("true")),
            ("nothing", json("")),
            ("a redirect", answer("302 Found\r\nLocation: /", "text/html", "")),
            ("an error with good news", answer("500 Oops", "application/json", &good)),
            ("no length", format!("HTTP/1.1 200 OK\r\n\r\n{good}")),
            ("not HTTP", "approved".repeat(10_000)),
            ("two answers", format!("{}{cut}", answer("100 Continue", "", ""))),
        ] {
            let (agent, _) = stand_in(vec![pending(), bad]);
            let found = agent.ask(&question());
            assert!(matches!(found, Err(Error::Unexpected(_))), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_truncated_response_is_retried() {
        let whole = ended("approved");
        let cut = whole.split_at(whole.len() - 20).0.to_owned();
        let (agent, _) = stand_in(vec![pending(), cut, String::new(), ended("denied")]);
        assert!(!agent.ask(&question()).unwrap().is_approved());
    }

    #[test]
    fn chunks_are_joined_only_if_complete() {
        let body = document(Some(ID), "approved", Some("approved"), "a");
        let (one, two) = body.split_at(50);
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let good = format!("{head}32\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n", two.len());
        let (agent, _) = stand_in(vec![pending(), good]);
        assert!(agent.ask(&question()).unwrap().is_approved());
        let longer = format!("{head}31\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", two.len());
        let (agent, _) = stand_in(vec![pending(), longer]);
        assert!(matches!(agent.ask(&question()), Err(Error::Unexpected(_))));
    }

    #[test]
    fn a_restarting_daemon_gets_the_call_only_once() {
        let problem = r#"{"type":"urn:countersign:problem:unavailable","title":"t","status":503,
            "detail":"the store cannot write","outcome":"unavailable","error":"e"}"#;
        let busy = answer("503 X", "application/problem+json", problem);
        // The first response is lost: the client cannot know whether the request arrived.
        let answers = vec![String::new(), busy.clone(), pending(), String::new(), busy];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let agent = AgentClient::new(Endpoint::Tcp(address.to_string()), None);
        let agent = agent.trusting(trusted());
        let heard = serve(listener, answers);
        let later = thread::spawn(move || {
            // The fake daemon stops after its last response; another one starts at the same
            // address.
            let end = Instant::now() + Duration::from_mins(2);
            loop {
                thread::sleep(Duration::from_millis(300));
                match TcpListener::bind(address) {
                    Ok(listener) => break serve(listener, vec![ended("approved")]),
                    Err(error) => assert!(Instant::now() < end, "{error}"),
                }
            }
        });
        assert!(agent.ask(&question()).unwrap().is_approved());
        later.join().unwrap();
        let heard = heard.lock().unwrap();
        let key = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("Idempotency-Key: "));
            line.map(str::to_owned)
        };
        let keys: Vec<_> = heard.iter().filter_map(|text| key(text)).collect();
        assert!(keys.len() >= 3 && keys.iter().all(|one| *one == keys[0]), "{keys:?}");
    }

    #[test]
    fn an_unreachable_daemon_is_reported() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap().to_string());
        drop(listener);
        let found = AgentClient::new(endpoint, None).ask(&question());
        assert!(matches!(found, Err(Error::Unreachable { sent: false, .. })), "{found:?}");
    }

    #[test]
    fn problems_become_typed_errors() {
        let problem = |status: u16, name: &str, outcome: &str| {
            let body = serde_json::json!({
                "type": format!("urn:countersign:problem:{name}"), "title": "t",
                "status": status, "detail": "d", "outcome": outcome, "error": "d",
            });
            answer(&format!("{status} X"), "application/problem+json", &body.to_string())
        };
        let ask = |answer| stand_in(vec![answer]).0.ask(&question()).unwrap_err();
        assert!(matches!(ask(problem(403, "refused", "denied")), Error::Denied(_)));
        assert!(matches!(ask(problem(429, "quarantined", "denied")), Error::Denied(_)));
        assert!(matches!(ask(problem(401, "unauthorized", "none")), Error::Unauthorized(_)));
        assert!(matches!(ask(problem(403, "forbidden", "none")), Error::Forbidden(_)));
        assert!(matches!(ask(problem(404, "not-found", "none")), Error::NotFound(_)));
        assert!(matches!(ask(problem(409, "conflict", "none")), Error::Conflict(_)));
        let misnamed = problem(200, "ok", "none").replace("200 X", "403 X");
        assert!(matches!(ask(misnamed), Error::Unexpected(_)));
        let reason = problem(422, "reason-needed", "none");
        assert_eq!(
            ask(reason).problem().map(|one| one.name().to_owned()).unwrap(),
            "reason-needed"
        );
    }

    #[test]
    fn events_are_read_one_by_one() {
        let events = ": hello\r\n\r\nevent: asked\nid: 1\ndata: {\"a\":\ndata: 1}\n\n\
                      event: ended\ndata: {}\n\n";
        let stream = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
             {:x}\r\n{events}\r\n0\r\n\r\n",
            events.len()
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(listener.local_addr().unwrap().to_string());
        let _heard = serve(listener, vec![stream]);
        let mut events = PeopleClient::new(endpoint, "csp_x".to_owned()).events().unwrap();
        let first = events.next_event().unwrap().unwrap();
        assert_eq!((first.name.as_str(), first.data.as_str()), ("asked", "{\"a\":\n1}"));
        assert_eq!(events.next_event().unwrap().unwrap().name, "ended");
        assert_eq!(events.next_event().unwrap(), None);
    }
}
