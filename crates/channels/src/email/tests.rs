//! Settings that are refused, and SMTP sessions with a scripted server.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

use super::*;

fn settings() -> EmailSettings {
    EmailSettings {
        server: "mail.example.org".to_owned(),
        port: 465,
        tls: Tls::Implicit,
        login: None,
        from: "countersign@example.org".to_owned(),
        to: vec!["ana@example.org".to_owned()],
        allow_private: false,
        timeout: Duration::from_secs(1),
    }
}

#[test]
fn what_could_inject_a_command_is_refused() {
    assert_eq!(settings().problem(), None);
    for address in [
        "",
        "ana",
        "@example.org",
        "ana@",
        "ana@example.org\r\nRCPT TO:<eve@example.org>",
        "ana@example.org>",
        "a b@example.org",
        "\"a\"@example.org",
        "ana@example.org, eve@example.org",
        "\u{e4}na@example.org",
        "ana@exa mple.org",
    ] {
        assert!(
            EmailSettings { from: address.to_owned(), ..settings() }.problem().is_some()
                && EmailSettings { to: vec![address.to_owned()], ..settings() }.problem().is_some(),
            "{address:?}"
        );
    }
    for server in ["", "a b", "a/b", "a@b", "a\r\nb", "a?b", "a#b"] {
        let bad = EmailSettings { server: server.to_owned(), ..settings() };
        assert!(bad.problem().is_some(), "{server:?}");
    }
    for secret in [LoginSecret::Password(PathBuf::new()), LoginSecret::OAuth2(PathBuf::new())] {
        let login = Some(SmtpLogin { user: "a\r\nb".to_owned(), secret });
        assert!(EmailSettings { login, ..settings() }.problem().is_some());
    }
    assert!(EmailSettings { to: Vec::new(), ..settings() }.problem().is_some());
}

#[test]
fn without_tls_only_this_machine() {
    for (server, good) in [
        ("localhost", true),
        ("127.0.0.1", true),
        ("::1", true),
        ("mail.example.org", false),
        ("10.0.0.1", false),
        ("localhost.example.org", false),
    ] {
        let open = EmailSettings { tls: Tls::None, server: server.to_owned(), ..settings() };
        assert_eq!(open.problem().is_none(), good, "{server}");
    }
}

/// A scripted server: sends these replies, one after each line that it reads.
fn server(replies: &'static [&'static str]) -> (DuplexStream, tokio::task::JoinHandle<String>) {
    let (ours, theirs) = duplex(64 * 1024);
    let task = tokio::spawn(async move {
        let (mut got, mut stream) = (String::new(), BufReader::new(theirs));
        for reply in replies {
            let _ = stream.get_mut().write_all(format!("{reply}\r\n").as_bytes()).await;
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return got;
                }
                got.push_str(&line);
                // A message is read to its end.
                if !reply.starts_with("354") || line == ".\r\n" {
                    break;
                }
            }
        }
        got
    });
    (ours, task)
}

fn session(login: session::SmtpCredentials) -> Session {
    Session {
        starttls: None,
        login: Some(login),
        from: "g@example.org".parse().unwrap(),
        to: ["ana@example.org", "bo@example.org"].map(|to| to.parse().unwrap()).to_vec(),
        message: b"A: b\r\n\r\n.c\r\n".to_vec(),
    }
}

fn password() -> session::SmtpCredentials {
    session::SmtpCredentials::Password(Credentials::new("u".to_owned(), "p".to_owned()))
}

fn peer() -> std::net::SocketAddr {
    ([127, 0, 0, 1], 25).into()
}

/// Runs a session as the channel does: in a task, so that a panic is an error.
async fn run(session: Session, stream: DuplexStream) -> Result<(), ChannelError> {
    let ended = tokio::spawn(session.run(stream, peer())).await;
    ended.unwrap_or_else(|_| Err(ChannelError::again("the session panicked")))
}

async fn send(replies: &'static [&'static str]) -> (Result<(), ChannelError>, String) {
    let (stream, task) = server(replies);
    let sent = run(session(password()), stream).await;
    (sent, task.await.unwrap())
}

#[tokio::test]
async fn a_message_is_handed_over() {
    let (sent, got) = send(&[
        "220 mail",
        "250-mail\r\n250-SIZE 1000\r\n250 AUTH LOGIN PLAIN",
        "235 welcome",
        "250 ok",
        "250 ok",
        "550 nobody",
        "354 go on",
        "250 taken",
    ])
    .await;
    assert_eq!(sent, Ok(()), "one of two recipients is enough");
    let (commands, message) = got.split_once("DATA\r\n").unwrap();
    assert_eq!(
        commands,
        "EHLO [127.0.0.1]\r\nAUTH PLAIN AHUAcA==\r\nMAIL FROM:<g@example.org>\r\n\
         RCPT TO:<ana@example.org>\r\nRCPT TO:<bo@example.org>\r\n"
    );
    // No line of the message can be taken for its end.
    assert!(message.starts_with("A: b\r\n\r\n..c\r\n"), "{message:?}");
    assert!(message.ends_with("\r\n.\r\nQUIT\r\n"), "{message:?}");
}

#[tokio::test]
async fn login_and_oauth2_are_spoken_as_specified() {
    let base64 = |text: &str| countersign_json::base64::encode(text.as_bytes());
    let user: &'static str = Box::leak(format!("334 {}", base64("Username:")).into());
    let pass: &'static str = Box::leak(format!("334 {}", base64("Password:")).into());
    let end = ["250 ok", "250 ok", "250 ok", "354 go on", "250 taken"];
    let begin = ["220 x", "250-x\r\n250 AUTH LOGIN", user, pass, "235 x"];
    let (sent, got) = send(Vec::leak([begin.as_slice(), &end].concat())).await;
    assert_eq!(sent, Ok(()));
    assert!(got.contains("AUTH LOGIN\r\ndQ==\r\ncA==\r\n"), "{got}");
    let begin = ["220 x", "250-x\r\n250 AUTH PLAIN XOAUTH2", "235 x"];
    let (stream, task) = server(Vec::leak([begin.as_slice(), &end].concat()));
    let token = Credentials::new("u@example.org".to_owned(), "ya29.token".to_owned());
    assert_eq!(run(session(session::SmtpCredentials::OAuth2(token.clone())), stream).await, Ok(()));
    let wanted = base64("user=u@example.org\u{1}auth=Bearer ya29.token\u{1}\u{1}");
    let got = task.await.unwrap();
    assert!(got.contains(&format!("AUTH XOAUTH2 {wanted}\r\n")), "{got}");
    // A token that is refused may be replaced by a newer one, so the message is tried again.
    for refusal in ["535 5.7.8 expired", "334 eyJzdGF0dXMiOiI0MDEifQ=="] {
        let replies = ["220 x", "250-x\r\n250 AUTH XOAUTH2", refusal];
        let (stream, _task) = server(Vec::leak(replies.to_vec()));
        let refused = run(session(session::SmtpCredentials::OAuth2(token.clone())), stream).await;
        let refused = refused.unwrap_err();
        assert!(!refused.permanent && refused.problem.contains("expired"), "{refused}");
        assert!(!refused.problem.contains("ya29"), "{refused}");
    }
}

#[tokio::test]
async fn temporary_refusals_are_retried_and_permanent_ones_are_not() {
    const AUTH: &str = "250-x\r\n250 AUTH PLAIN";
    for (replies, permanent) in [
        (&["421 busy"] as &[&str], false),
        (&["554 go away"], true),
        (&["220 x", "250 x"], true),
        (&["220 x", AUTH, "535 wrong"], true),
        (&["220 x", AUTH, "454 later"], false),
        (&["220 x", AUTH, "235 x", "451 later"], false),
        (&["220 x", AUTH, "235 x", "250 x", "550 x", "450 later"], false),
        (&["220 x", AUTH, "235 x", "250 x", "550 x", "550 x"], true),
        (&["220 x", AUTH, "235 x", "250 x", "250 x", "250 x", "451 x"], false),
        (&["220 x", AUTH, "235 x", "250 x", "250 x", "250 x", "250 x"], false),
        (&["220 x", AUTH, "235 x", "250 x", "250 x", "250 x", "354 x", "552 x"], true),
        (&["220 x", AUTH, "235 x", "250 x", "250 x", "250 x", "354 x"], false),
        (&["HTTP/1.1 400 Bad Request"], false),
        (&["220"], false),
        (&[], false),
        // A reply whose second line is blank.
        (&["220 x", "250-x\r\n250-   \r\n250 AUTH PLAIN"], false),
    ] {
        let replies: &'static [&'static str] = Vec::leak(replies.to_vec());
        let (sent, _) = send(replies).await;
        assert_eq!(sent.unwrap_err().permanent, permanent, "{replies:?}");
    }
}

fn tls() -> TlsParameters {
    let builder = TlsParameters::builder("mail.example.org".to_owned());
    builder.certificate_store(CertificateStore::None).build_rustls().unwrap()
}

#[tokio::test]
async fn starttls_is_required_and_nothing_sent_before_it_counts() {
    let (stream, task) = server(&["220 x", "250-x\r\n250 AUTH PLAIN"]);
    let open = run(Session { starttls: Some(tls()), ..session(password()) }, stream).await;
    assert!(open.unwrap_err().permanent);
    assert_eq!(task.await.unwrap(), "EHLO [127.0.0.1]\r\n", "no password without TLS");
    // The attacker answers STARTTLS and, in the same packet, the EHLO that follows it.
    let injected = "220 go\r\n250-x\r\n250 AUTH PLAIN\r\n235 welcome";
    let (stream, task) = server(Vec::leak(vec!["220 x", "250-x\r\n250 STARTTLS", injected]));
    let open = run(Session { starttls: Some(tls()), ..session(password()) }, stream).await;
    assert!(open.unwrap_err().problem.contains("TLS"));
    let got = tokio::time::timeout(Duration::from_mins(1), task).await.unwrap().unwrap();
    assert!(!got.contains("AUTH"), "no password without TLS: {got:?}");
}

#[tokio::test]
async fn a_server_that_never_stops_sending_is_disconnected() {
    for endless in [b"2".as_slice(), b"250-x\r\n"] {
        let (stream, mut theirs) = duplex(1024);
        let task = tokio::spawn(async move {
            let mut sent = 0;
            while theirs.write_all(endless).await.is_ok() {
                sent += endless.len();
            }
            sent
        });
        assert!(run(session(password()), stream).await.is_err());
        let sent = task.await.unwrap();
        assert!(sent < 100_000, "{sent}");
    }
}
