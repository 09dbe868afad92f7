//! E-mail, against a real server (aiosmtpd) and read by a second reader (Python's email package).

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use serde_json::{Value, json};

use crate::fake_server::{
    HIGH, MEDIUM, installation, installation_with, median_to_message, private, until,
};
use crate::fixture::{Fixture, alone, report_figures, run, shared};

/// So long takes only a channel that hangs.
const HANG: Duration = Duration::from_mins(1);

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/people/mailbox.py");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/people-venv/bin/python");

type Letters = Arc<Mutex<Vec<(Value, Instant)>>>;

struct Mailbox {
    child: Child,
    port: u64,
    letters: Letters,
}

impl Mailbox {
    /// Nothing where aiosmtpd is not installed.
    fn start(settings: &Value) -> Option<Mailbox> {
        if !Path::new(PYTHON).exists() || !run(&[PYTHON, "-c", "import aiosmtpd"]).0 {
            skip(Cause::Tool, "aiosmtpd is not in target/people-venv");
            return None;
        }
        let mut command = Command::new(PYTHON);
        command.args(["-I", "-W", "ignore", SCRIPT, &settings.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let letters = Letters::default();
        let keeps = Arc::clone(&letters);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let letter = serde_json::from_str(&line).unwrap();
                keeps.lock().unwrap().push((letter, Instant::now()));
            }
        });
        Some(Mailbox { child, port: first["port"].as_u64().unwrap(), letters })
    }

    fn count(&self) -> usize {
        self.letters.lock().unwrap().len()
    }

    fn wait(&self, count: usize) -> Vec<(Value, Instant)> {
        until(&format!("{count} letters"), || self.count() >= count);
        self.letters.lock().unwrap().clone()
    }

    /// Its part of the configuration.
    fn channel(&self, more: &str) -> String {
        format!(
            "[channels.mail]\nkind = \"email\"\nserver = \"localhost\"\nport = {}\n\
             from = \"gate@example.org\"\nto = [\"ana@example.org\", \"bo@example.org\"]\n\
             timeout_seconds = 1\nper_minute = 6000\n{more}",
            self.port
        )
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn header<'a>(letter: &'a Value, name: &str) -> &'a str {
    let all = letter["headers"].as_array().unwrap();
    let mut found = all.iter().filter(|one| one[0] == name);
    let value = found.next().unwrap_or_else(|| panic!("no {name}: {letter}"));
    assert!(found.next().is_none(), "{name} is there twice: {letter}");
    value[1].as_str().unwrap()
}

#[test]
fn a_letter_is_read_as_it_was_meant_and_its_link_decides_nothing() {
    let _shared = shared();
    let Some(mailbox) = Mailbox::start(&json!({})) else { return };
    let folder = tempfile::tempdir().unwrap();
    let channel = mailbox.channel("tls = \"none\"\ndetails = true\n");
    let fixture = installation(folder.path(), "mail", &channel);
    let evil = "git push --force origin main # \u{1f534}\r\nBcc: eve@example.org\r\n.\r\nQUIT\r\n";
    let asked = fixture.ask(evil);
    let letter = mailbox.wait(1).remove(0).0;
    assert_eq!(letter["defects"], json!([]), "{letter}");
    assert_eq!(letter["to"], json!(["ana@example.org", "bo@example.org"]));
    assert_eq!(
        (&letter["sender"], &letter["type"]),
        (&json!("gate@example.org"), &json!("text/plain"))
    );
    let names: Vec<&str> =
        letter["headers"].as_array().unwrap().iter().map(|one| one[0].as_str().unwrap()).collect();
    assert!(!names.contains(&"Bcc"), "{names:?}");
    let phrase = asked["phrase"].as_str().unwrap();
    let subject = header(&letter, "Subject");
    assert!(subject.contains("HIGH: coder asks") && subject.contains(phrase), "{subject}");
    let text = letter["text"].as_str().unwrap();
    assert!(text.contains("git push --force origin main") && text.contains("Bcc"), "{text}");
    let id = asked["id"].as_str().unwrap();
    let (_, path) = text.split_once("/requests/").unwrap();
    assert!(path.starts_with(id), "{text}");
    // Mail programs open links by themselves, with and without a login.
    for token in [None, Some(fixture.owner.as_str())] {
        let mut client = proofs::http::Client::new(fixture.gate.people);
        if let Some(token) = token {
            client = proofs::http::Client::with(fixture.gate.people, token);
        }
        let _ = client.get(&format!("/requests/{id}"));
    }
    assert_eq!(fixture.state(&asked), "pending");
    let digest = asked["digest"].as_str().unwrap();
    crate::fixture::decide(&mut fixture.owner_client(), id, digest, false).unwrap();
    let end = mailbox.wait(2).remove(1).0;
    assert_eq!(header(&end, "In-Reply-To"), header(&letter, "Message-ID"));
    assert!(header(&end, "Subject").contains("denied by owner"), "{end}");
    assert!(!end["text"].as_str().unwrap().contains("git push"), "{end}");
}

#[test]
fn later_is_tried_again_and_never_is_not() {
    let _shared = shared();
    let answers = json!({ "answers": ["451 later", "250 taken", "554 never"] });
    let Some(mailbox) = Mailbox::start(&answers) else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = installation(folder.path(), "mail", &mailbox.channel("tls = \"none\"\n"));
    let asked = fixture.ask(MEDIUM);
    let letters = mailbox.wait(2);
    assert_eq!(header(&letters[0].0, "Message-ID"), header(&letters[1].0, "Message-ID"));
    assert!(letters[1].1 - letters[0].1 >= Duration::from_millis(900));
    assert!(!letters[0].0["text"].as_str().unwrap().contains(MEDIUM), "no call unless wanted");
    until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "arrived");
    let refused = fixture.ask(&format!("{MEDIUM} # 2"));
    until("the record", || fixture.look(&refused)["deliveries"][0]["state"] == "failed");
    assert!(fixture.problem("mail").contains("554"), "{}", fixture.problem("mail"));
}

#[test]
fn a_server_that_hangs_or_says_nothing_is_left_in_time() {
    let _alone = alone();
    let Some(mailbox) = Mailbox::start(&json!({ "hangs": 1 })) else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = installation(folder.path(), "mail", &mailbox.channel("tls = \"none\"\n"));
    let since = Instant::now();
    let asked = fixture.ask(MEDIUM);
    let letters = mailbox.wait(2);
    assert!(letters[1].1 - since < HANG, "{:?}", letters[1].1 - since);
    assert_eq!(header(&letters[0].0, "Message-ID"), header(&letters[1].0, "Message-ID"));
    until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "arrived");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let channel =
        mailbox.channel("tls = \"none\"\n").replace(&mailbox.port.to_string(), &port.to_string());
    let other = tempfile::tempdir().unwrap();
    let fixture = installation(other.path(), "mail", &channel);
    let asked = fixture.ask(MEDIUM);
    until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "trying");
}

/// An authority of our own and a certificate for this machine.
fn certificates(folder: &Path) {
    let script = "set -e\n\
        new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n\
        openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=proof -days 2\n\
        openssl req $new -keyout key.pem -out request.pem -subj /CN=localhost\n\
        printf 'subjectAltName=DNS:localhost\\nbasicConstraints=CA:FALSE\\n' > extensions\n\
        openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial \
            -out certificate.pem -days 2 -extfile extensions\n";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn passwords_travel_only_to_the_right_server_and_only_in_secret() {
    let _shared = shared();
    if !crate::fixture::has("openssl") {
        return skip(Cause::Tool, "openssl is not installed");
    }
    let keys = tempfile::tempdir().unwrap();
    certificates(keys.path());
    let file = |name: &str| keys.path().join(name).display().to_string();
    for tls in ["implicit", "starttls"] {
        let settings = json!({
            "tls": tls, "certificate": file("certificate.pem"), "key": file("key.pem"),
            "user": "gate", "password": "correct-horse",
        });
        let Some(mailbox) = Mailbox::start(&settings) else { return };
        let folder = tempfile::tempdir().unwrap();
        let told = |password: &str, trusted: bool| {
            let folder = folder.path().join(format!("{password}-{trusted}"));
            std::fs::create_dir(&folder).unwrap();
            let password = private(&folder, "password", password);
            let channel = mailbox.channel(&format!(
                "tls = \"{tls}\"\nallow_private = true\nuser = \"gate\"\n\
                 password_file = {password}\n"
            ));
            let mut installation = installation_with(&folder, "first = [\"mail\"]", &channel);
            if trusted {
                installation = installation.variable("SSL_CERT_FILE", &file("ca.pem"));
            }
            let fixture = Fixture::new(installation);
            let asked = fixture.ask(HIGH);
            let mut delivery = Value::Null;
            until("the record", || {
                delivery = fixture.look(&asked)["deliveries"][0].clone();
                delivery["state"].is_string()
            });
            (delivery["state"].as_str().unwrap().to_owned(), delivery["detail"].to_string())
        };
        let (state, why) = told("correct-horse", false);
        assert!(state == "trying" && why.contains("certificate"), "{tls}: {state} {why}");
        let (state, why) = told("wrong-horse", true);
        assert!(state == "failed" && why.contains("535"), "{tls}: {state} {why}");
        assert_eq!(mailbox.count(), 0, "{tls}");
        let (state, why) = told("correct-horse", true);
        assert_eq!(state, "arrived", "{tls}: {why}");
        let letter = mailbox.wait(1).remove(0).0;
        assert_eq!((&letter["secret"], &letter["user"]), (&json!(true), &json!("gate")), "{tls}");
    }
}

#[test]
fn the_time_to_a_letter_is_reported() {
    let _alone = alone();
    let Some(mailbox) = Mailbox::start(&json!({})) else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = installation(folder.path(), "mail", &mailbox.channel("tls = \"none\"\n"));
    let middle = median_to_message(&fixture, |number| mailbox.wait(number + 1)[number].1);
    report_figures(&format!("e-mail: request to letter, median of 100: {middle:.1} ms"));
}
