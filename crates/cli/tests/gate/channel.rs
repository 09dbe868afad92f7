//! `countersign channel`: added with a real daemon and a fake of Telegram's Bot API.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::daemon::Daemon;
use super::fake_daemon::{countersign, stderr, stdout};
use super::telegram::{FakeTelegram, Fault, TOKEN, tap, text};

const ANA: i64 = 77;

/// A directory with a configuration and the bot's token.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(config: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::write(place.config(), config).unwrap();
        fs::write(place.path("bot"), TOKEN).unwrap();
        fs::set_permissions(place.path("bot"), fs::Permissions::from_mode(0o600)).unwrap();
        place.passphrase("none yet");
        place
    }

    /// Keeps the passphrase that confirms changes.
    fn passphrase(&self, text: &str) {
        let file = self.path("passphrase");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn config(&self) -> String {
        self.path("countersign.toml")
    }

    fn written(&self) -> String {
        fs::read_to_string(self.config()).unwrap()
    }

    /// `channel add telegram` for this place.
    fn add(&self, command: &mut Command, server: &FakeTelegram) -> Child {
        command
            .args(["channel", "add", "telegram", "--yes", "--wait", "90", "--allow-private"])
            .args(["--base-url", &server.url, "--bot-token-file", &self.path("bot")])
            .args(["--config", &self.config()])
            .args(["--passphrase-file", &self.path("passphrase")])
            .env("COUNTERSIGN_STATE", self.path("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

/// The code of the newest link in `said`, read from the output of the program.
fn codes(server: &FakeTelegram) -> impl Fn(&str) + '_ {
    move |code: &str| {
        server.says(text(ANA, &format!("/start {code}")));
    }
}

/// Reads lines until one contains a link with a code.
fn next_code(lines: &mut dyn Iterator<Item = String>, all: &mut String) -> Option<String> {
    for line in lines {
        all.push_str(&line);
        all.push('\n');
        if let Some((_, code)) = line.split_once("https://t.me/our_bot?start=") {
            return Some(code.trim().to_owned());
        }
    }
    None
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    use std::io::BufRead as _;
    let out = child.stdout.take().unwrap();
    std::io::BufReader::new(out).lines().map_while(Result::ok)
}

#[test]
fn from_a_token_to_the_first_tap() {
    let server = FakeTelegram::start();
    let place = Place::new("# mine\n[escalation]\n# as it was\nfirst = [\"terminal\"]\n");
    let state = place.path("state");
    let daemon = Daemon::with(Path::new(&state), &["--config", &place.config()]);
    let token = daemon.token();
    place.passphrase(daemon.passphrase());
    let press = codes(&server);
    let mut command = daemon.command(&[]);
    let mut adding = place.add(command.env("COUNTERSIGN_TOKEN", &token), &server);
    let (mut out, mut said) = (lines(&mut adding), String::new());
    // A guess by another account is not accepted.
    server.says(text(99, "/start AAAAAAAAAA"));
    press(&next_code(&mut out, &mut said).expect("a first address"));
    press(&next_code(&mut out, &mut said).expect("a second address"));
    // It ends when the linked account taps the button of the test message.
    let carried = |body: &serde_json::Value| {
        body["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str().map(str::to_owned)
    };
    let test = server.call("sendMessage", |body| carried(body).is_some());
    assert_eq!(test.body["chat_id"], ANA);
    assert_eq!(test.body["reply_markup"]["inline_keyboard"].as_array().unwrap().len(), 1);
    let button = carried(&test.body).unwrap();
    for (account, data) in [(99, button.as_str()), (ANA, "t:AAAAAAAAAAAAAAAAAAAAAAAA")] {
        let asked = server.calls("answerCallbackQuery").len();
        server.says(tap(account, ANA, data));
        // A tap that means nothing may stay unanswered.
        let end = Instant::now() + Duration::from_secs(10);
        while server.calls("answerCallbackQuery").len() == asked && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert!(adding.try_wait().unwrap().is_none(), "neither a stranger nor a guess ends it: {said}");
    server.says(tap(ANA, ANA, &button));
    assert_eq!(next_code(&mut out, &mut said), None);
    let ended = adding.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}\n{}", stderr(&ended));
    for words in [
        "Bot: @our_bot (Gate).",
        "Received Start from @ana.",
        "Linked: @ana now decides as",
        "The channel works: owner tapped the button.",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("AAAAAAAAAAAAAAA"), "the token is shown: {said}");
    let written = place.written();
    assert!(written.contains("first = [\"terminal\", \"telegram\"]"), "{written}");
    assert!(written.starts_with("# mine\n") && written.contains("chat = 77\n"), "{written}");
    let before = fs::read_to_string(place.path("countersign.toml.before")).unwrap();
    assert!(!before.contains("telegram"), "{before}");
    let run = |args: &[&str]| -> Output {
        daemon.command(args).env("COUNTERSIGN_TOKEN", &token).output().unwrap()
    };
    let list = stdout(&run(&["channel", "list"]));
    assert!(list.contains("telegram") && list.contains("approves up to HIGH"), "{list}");
    let accounts = stdout(&run(&["channel", "accounts"]));
    assert!(accounts.contains("telegram/77") && accounts.contains("@ana"), "{accounts}");
    server.fails("sendMessage", Fault::refuses(403, "Forbidden: bot was blocked", &"".into()));
    let test = run(&["channel", "test", "telegram"]);
    assert_eq!(test.status.code(), Some(1));
    assert!(stdout(&test).contains("may not write in this chat"), "{}", stdout(&test));
    let file = place.path("passphrase");
    let gone = run(&["channel", "unlink", "telegram/77", "--passphrase-file", &file]);
    assert!(stdout(&gone).contains("telegram/77"), "{}", stderr(&gone));
    let none = stdout(&run(&["channel", "accounts"]));
    assert!(none.contains("No account is linked"), "{none}");
    // A second channel of the same name is rejected before any prompt.
    let again = place.add(&mut daemon.command(&[]), &server).wait_with_output().unwrap();
    assert!(stderr(&again).contains("a channel with this name exists"), "{}", stderr(&again));
    assert_eq!(place.written(), written);
}

#[test]
fn nothing_is_written_while_something_is_wrong() {
    let server = FakeTelegram::start();
    let place = Place::new("mode = \"observe\"\n");
    server.fails("getMe", Fault::refuses(401, "Unauthorized", &"".into()));
    let refused = place.add(&mut countersign(), &server).wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("rejected the bot's token"), "{}", stderr(&refused));
    // Interrupted while it waits for Start.
    let mut waiting = place.add(&mut countersign(), &server);
    let end = Instant::now() + Duration::from_mins(2);
    while server.calls("getUpdates").is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = waiting.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(!waiting.wait().unwrap().success());
    assert_eq!(place.written(), "mode = \"observe\"\n");
    // Without a daemon the configuration is written, and the remaining steps are printed.
    let mut alone = place.add(countersign().args::<[&str; 0], _>([]), &server);
    let (mut out, mut said) = (lines(&mut alone), String::new());
    codes(&server)(&next_code(&mut out, &mut said).expect("an address"));
    assert_eq!(next_code(&mut out, &mut said), None);
    assert_eq!(alone.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("countersign serve") && said.contains("channel link"), "{said}");
    assert!(place.written().contains("[channels.telegram]"), "{}", place.written());
}
