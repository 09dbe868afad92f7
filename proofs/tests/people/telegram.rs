//! Telegram: a real daemon before the real emulator `telegram-test-api`, and before a stand-in
//! where the emulator does less than Telegram (it holds nothing open, confirms nothing, never
//! refuses).

#[path = "../../../crates/channels/tests/telegram/fake_telegram.rs"]
mod fake_telegram;

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proof_skip::{Cause, skip};
use proofs::http::Client;
use proofs::installation::{TestInstallation, UNLIMITED};
use serde_json::{Value, json};

use self::fake_telegram::{FakeTelegram, Fault, TOKEN};
use crate::fixture::{
    Fixture, Rng, alone, browse, decide, has_browser, report_figures, risky, shared, size,
};

/// Installed by `./test`.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/people");
/// The owner's account, which is also the chat, and somebody else's.
const OWNER: i64 = 77;
const STRANGER: i64 = 78;

/// A private file, as text for a configuration.
fn secret(folder: &Path, name: &str, text: &str) -> String {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

/// A house that asks on Telegram only.
fn installation(folder: &Path, base_url: &str) -> TestInstallation {
    installation_with_channels(folder, base_url, "")
}

fn installation_with_channels(folder: &Path, base_url: &str, lines: &str) -> TestInstallation {
    let token = secret(folder, "telegram.token", TOKEN);
    let settings = format!(
        "{UNLIMITED}[escalation]\nfirst = [\"telegram\"]\n[channels.telegram]\n\
         kind = \"telegram\"\n\
         token_file = \"{token}\"\nchat = {OWNER}\nbase_url = \"{base_url}\"\n\
         allow_private = true\nper_minute = 6000\ntimeout_seconds = 2\n{lines}"
    );
    TestInstallation::new(folder, &settings).unwrap()
}

/// Waits until something is so.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_mins(2);
    while Instant::now() < end {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

fn ask(fixture: &Fixture, number: usize) -> (String, String) {
    let asked = fixture.agent_client().post("/v1/requests", &risky(number)).unwrap();
    assert_eq!(asked.status, 201, "{}", asked.body);
    let shown = fixture.owner_client().get(&format!("/v1/requests/{}", asked.text("id"))).unwrap();
    (asked.text("id").to_owned(), shown.text("phrase").to_owned())
}

fn state(fixture: &Fixture, id: &str) -> String {
    fixture.owner_client().get(&format!("/v1/requests/{id}")).unwrap().text("state").to_owned()
}

fn becomes(fixture: &Fixture, id: &str, wanted: &str) {
    until(&format!("{id} is {wanted}"), || (state(fixture, id) == wanted).then_some(()));
}

fn linked(fixture: &Fixture) -> bool {
    let accounts = fixture.owner_client().get("/v1/accounts").unwrap();
    accounts.body["accounts"][0]["account"].as_str() == Some(&OWNER.to_string())
}

/// The code that links the owner's account.
fn code(fixture: &Fixture) -> String {
    let link = fixture.owner_client().post("/v1/channels/telegram/link", &json!({})).unwrap();
    link.text("code").to_owned()
}

/// Waits until it is written down that the message arrived: only then does a tap count.
fn arrives(fixture: &Fixture, id: &str) {
    until("the message is written down", || {
        let shown = fixture.owner_client().get(&format!("/v1/requests/{id}")).unwrap();
        (shown.body["deliveries"][0]["state"] == "arrived").then_some(())
    });
}

/// What the buttons of a message carry: approve and deny.
fn buttons(message: &Value) -> (String, String) {
    let rows = &message["reply_markup"]["inline_keyboard"];
    let data = |at: usize| rows[at][0]["callback_data"].as_str().unwrap_or_default().to_owned();
    (data(0), data(1))
}

/// The emulator, with the phones of people.
struct Emulator {
    child: Child,
    endpoint: SocketAddr,
}

impl Emulator {
    /// Nothing if it is not installed.
    fn start() -> Option<Emulator> {
        let there = Path::new(TOOLS).join("node_modules/telegram-test-api").is_dir();
        if !there {
            skip(Cause::Tool, "telegram-test-api is not installed");
            return None;
        }
        let endpoint = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let script = format!(
            "const T = require('telegram-test-api'); \
             new T({{ port: {}, host: '127.0.0.1', storeTimeout: 3600 }}).start()\
             .then(() => console.log('up'));",
            endpoint.port()
        );
        let mut command = Command::new("node");
        command.args(["-e", &script]).current_dir(TOOLS).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        Some(Emulator { child, endpoint })
    }

    fn url(&self) -> String {
        format!("http://{}", self.endpoint)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let reply = Client::new(self.endpoint).post(path, body).unwrap();
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    /// Somebody writes in their own chat with the bot.
    fn says(&self, account: i64, text: &str) {
        let mut update = fake_telegram::text(account, text)["message"].take();
        update["botToken"] = json!(TOKEN);
        self.post("/sendMessage", &update);
    }

    /// The bot's messages so far, as they stand now, with their times.
    fn messages(&self) -> Vec<Value> {
        let all = self.post("/getUpdatesHistory", &json!({ "token": TOKEN }));
        let all = all["result"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|one| one["message"]["chat_id"] == OWNER).collect()
    }

    /// The message that holds these words, waited for.
    fn message(&self, words: &str) -> Value {
        until(words, || {
            let all = self.messages();
            all.into_iter()
                .map(|mut one| one["message"].take())
                .find(|message| message["text"].as_str().is_some_and(|text| text.contains(words)))
        })
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody taps a button, as the emulator takes it.
fn taps(phone: &mut Client, account: i64, data: &str) {
    let mut query = fake_telegram::tap(account, account, data)["callback_query"].take();
    query["botToken"] = json!(TOKEN);
    assert_eq!(phone.post("/sendCallback", &query).unwrap().status, 200);
}

/// Milliseconds since 1970, as the emulator counts them.
#[expect(clippy::disallowed_methods, reason = "held against another program's clock")]
fn millis() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

/// The owner links their account by the deep link that the daemon gives.
fn links(fixture: &Fixture, emulator: &Emulator) {
    let open = until("the daemon knows the bot's name", || {
        let link = fixture.owner_client().post("/v1/channels/telegram/link", &json!({})).unwrap();
        link.body["open"].as_str().map(str::to_owned)
    });
    let code = open.strip_prefix("https://t.me/TestNameBot?start=").unwrap();
    emulator.says(OWNER, &format!("/start {code}"));
    until("the account is linked", || linked(fixture).then_some(()));
}

#[test]
fn people_answer_on_telegram() {
    let _shared = shared();
    let Some(emulator) = Emulator::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(installation(folder.path(), &emulator.url()));
    links(&fixture, &emulator);
    let mut phone = Client::new(emulator.endpoint);

    // A tap approves, and the message says so.
    let (id, phrase) = ask(&fixture, 1);
    let message = emulator.message(&phrase);
    assert!(message["text"].as_str().unwrap().contains("The report number 1."), "{message}");
    let (approve, deny) = buttons(&message);
    arrives(&fixture, &id);
    taps(&mut phone, OWNER, &approve);
    becomes(&fixture, &id, "approved");
    let over = emulator.message("approved by owner through telegram");
    assert_eq!(over["reply_markup"]["inline_keyboard"], json!([]), "the buttons are gone");
    // A second tap, and a no after the yes, change nothing.
    taps(&mut phone, OWNER, &approve);
    taps(&mut phone, OWNER, &deny);

    // A stranger's tap counts for nothing, and a no elsewhere is told here.
    let (id, phrase) = ask(&fixture, 2);
    let (approve, deny) = buttons(&emulator.message(&phrase));
    taps(&mut phone, STRANGER, &approve);
    taps(&mut phone, STRANGER, &deny);
    emulator.says(STRANGER, &format!("/approve {phrase}"));
    emulator.says(STRANGER, "/start AAAAAAAA");

    // By its two words; everything before was heard when this is.
    let (last, phrase) = ask(&fixture, 3);
    emulator.message(&phrase);
    emulator.says(OWNER, &format!("/deny {phrase} not today"));
    becomes(&fixture, &last, "denied");
    assert_eq!(state(&fixture, &id), "pending", "a stranger was heard");
    let shown = fixture.owner_client().get(&format!("/v1/requests/{id}")).unwrap();
    let digest = shown.text("digest").to_owned();
    assert_eq!(decide(&mut fixture.owner_client(), &id, &digest, false).unwrap().status, 200);
    emulator.message("denied by owner in the terminal");
    let accounts = fixture.owner_client().get("/v1/accounts").unwrap();
    assert_eq!(accounts.body["accounts"].as_array().unwrap().len(), 1);
    report_figures(
        "telegram: tap, second tap, stranger, /deny, end told elsewhere: as they should be",
    );
}

#[test]
fn a_question_is_on_the_phone_at_once() {
    let _alone = alone();
    let Some(emulator) = Emulator::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(installation(folder.path(), &emulator.url()));
    let mut agent = fixture.agent_client();
    let mut began = Vec::new();
    let questions = 100;
    for number in 0..questions {
        began.push(millis());
        assert_eq!(agent.post("/v1/requests", &risky(number)).unwrap().status, 201);
        emulator.message(&format!("The report number {number}."));
    }
    let messages = until("all messages", || {
        let all = emulator.messages();
        (all.len() == questions).then_some(all)
    });
    let mut times: Vec<u128> = began
        .iter()
        .enumerate()
        .map(|(number, began)| {
            let words = format!("The report number {number}.");
            let fits = |one: &&Value| one["message"]["text"].as_str().unwrap().contains(&words);
            let at = messages.iter().find(fits).unwrap()["time"].as_u64().unwrap();
            u128::from(at).saturating_sub(*began)
        })
        .collect();
    times.sort_unstable();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    report_figures(&format!(
        "telegram: from request to message, median {median} ms, worst {worst} ms of 100"
    ));
}

#[test]
fn no_forged_or_replayed_tap_is_accepted() {
    let _shared = shared();
    let Some(emulator) = Emulator::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(installation(folder.path(), &emulator.url()));
    links(&fixture, &emulator);
    let mut phone = Client::new(emulator.endpoint);
    // One that is over, one that the attack is about, and one whose end says that all was heard.
    let (spent, phrase) = ask(&fixture, 1);
    let (used, unused) = buttons(&emulator.message(&phrase));
    arrives(&fixture, &spent);
    taps(&mut phone, OWNER, &used);
    becomes(&fixture, &spent, "approved");
    let (target, phrase) = ask(&fixture, 2);
    let (approve, deny) = buttons(&emulator.message(&phrase));
    let (other, phrase) = ask(&fixture, 3);
    let (others, _) = buttons(&emulator.message(&phrase));
    arrives(&fixture, &target);
    arrives(&fixture, &other);
    let proof = |data: &str| data.rsplit(':').next().unwrap().to_owned();
    let mut rng = Rng(0x5eed);
    let wanted = size(1_000, 10_000);
    let mut sent = 0;
    while sent < wanted {
        let (account, data) = match rng.below(8) {
            // Taps of people whom nobody knows, on real buttons.
            0 => (STRANGER + i64::from(rng.small(50)), approve.clone()),
            1 => (STRANGER + i64::from(rng.small(50)), deny.clone()),
            // Spent buttons, again.
            2 => (OWNER, used.clone()),
            3 => (OWNER, unused.clone()),
            // A proof that belongs elsewhere.
            4 => (OWNER, format!("a:{target}:{}", proof(&deny))),
            5 => (OWNER, format!("a:{target}:{}", proof(&used))),
            6 => (OWNER, format!("a:{target}:{}", proof(&others))),
            // One or more characters different.
            _ => {
                let mut bytes = approve.clone().into_bytes();
                for _ in 0..=rng.below(3) {
                    let at = usize::from(rng.small(41));
                    bytes[at] = b'0' + u8::try_from(rng.below(75)).unwrap();
                }
                let data = String::from_utf8(bytes).unwrap();
                if [&approve, &deny, &others].contains(&&data) {
                    continue;
                }
                (OWNER, data)
            }
        };
        taps(&mut phone, account, &data);
        sent += 1;
    }
    taps(&mut phone, OWNER, &others);
    becomes(&fixture, &other, "approved");
    assert_eq!(state(&fixture, &target), "pending", "a forged tap was accepted");
    let shown = fixture.owner_client().get(&format!("/v1/requests/{target}")).unwrap();
    assert_eq!(shown.body["votes"].as_array().map_or(0, Vec::len), 0, "{}", shown.body);
    assert_eq!(state(&fixture, &spent), "approved");
    report_figures(&format!("telegram: 0 of {sent} forged or replayed taps were accepted"));
    // The real one still works.
    taps(&mut phone, OWNER, &approve);
    becomes(&fixture, &target, "approved");
}

#[test]
fn what_telegram_does_on_a_bad_day_is_lived_through() {
    let _shared = shared();
    let server = FakeTelegram::start();
    let folder = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::new(installation(folder.path(), &server.url));
    server.says(fake_telegram::text(OWNER, &format!("/link {}", code(&fixture))));
    until("the account is linked", || linked(&fixture).then_some(()));
    let sent = |phrase: &str| {
        let fits = |body: &Value| body["text"].as_str().is_some_and(|text| text.contains(phrase));
        server.call("sendMessage", fits)
    };
    let seen = |phrase: &str| {
        let fits = |body: &Value| body["text"].as_str().is_some_and(|text| text.contains(phrase));
        server.calls("sendMessage").into_iter().filter(|call| fits(&call.body)).collect::<Vec<_>>()
    };

    // The messages about the new link must not meet the fault that is meant for the request.
    // One answers the account, one tells the channel.
    until("the messages about the link are sent", || {
        (server.calls("sendMessage").len() >= 2).then_some(())
    });
    // It wants a pause: it gets one, and then the message.
    let slower = Fault::refuses(429, "Too Many Requests", &json!({ "retry_after": 2 }));
    server.fails("sendMessage", slower);
    let (id, phrase) = ask(&fixture, 1);
    sent(&phrase);
    let tries = until("it is tried again", || Some(seen(&phrase)).filter(|all| all.len() == 2));
    let pause = tries[1].at - tries[0].at;
    assert!(pause >= Duration::from_millis(1_990), "{pause:?}");
    // The tap comes twice and out of order with an older one: it counts once.
    let (approve, _) = buttons(&tries[1].body);
    arrives(&fixture, &id);
    let tap = server.says(fake_telegram::tap(OWNER, OWNER, &approve));
    server.delivers(tap.clone());
    becomes(&fixture, &id, "approved");
    server.delivers(tap);
    let (second, phrase) = ask(&fixture, 2);
    sent(&phrase);
    server.says(fake_telegram::text(OWNER, &format!("/deny {phrase}")));
    becomes(&fixture, &second, "denied");
    until("a reply", || (!server.calls("answerCallbackQuery").is_empty()).then_some(()));
    assert_eq!(server.calls("answerCallbackQuery").len(), 1, "one tap, one reply");

    // Broken, silent and failing: tried until it works.
    for fault in
        [Fault::Breaks, Fault::Hangs(Duration::from_secs(4)), Fault::Says(502, "<html>".to_owned())]
    {
        server.fails("sendMessage", fault);
        let (_, phrase) = ask(&fixture, server.calls("sendMessage").len() + 100);
        until("it is tried again", || (seen(&phrase).len() >= 2).then_some(()));
    }

    // A tap while the daemon is dead is heard by the next one.
    let (id, phrase) = ask(&fixture, 3);
    let (approve, _) = buttons(&sent(&phrase).body);
    arrives(&fixture, &id);
    let Fixture { installation, gate, owner, agent } = fixture;
    gate.kill().unwrap();
    server.says(fake_telegram::tap(OWNER, OWNER, &approve));
    fixture = Fixture { gate: installation.start().unwrap(), installation, owner, agent };
    becomes(&fixture, &id, "approved");
    report_figures(
        "telegram: 429, 502, silence, broken lines, repeated taps, a dead daemon: lived through",
    );
}

#[test]
fn an_account_is_linked_and_unlinked_in_a_browser() {
    let _shared = shared();
    let Some(emulator) = Emulator::start() else { return };
    if !has_browser("telegram") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(installation(folder.path(), &emulator.url()));
    let url = emulator.url();
    let further = [("TELEGRAM", url.as_str()), ("TOKEN", TOKEN)];
    browse("telegram", "people/telegram.mjs", &fixture, &further);
}

/// What the hook is called with; how it is answered.
fn calls(hook: &mut Client, given: Option<&str>, body: &str) -> u16 {
    let header = given.map(|given| ("x-telegram-bot-api-secret-token", given));
    hook.send("POST", "/hooks/telegram", header.as_slice(), Some(body)).unwrap().status
}

#[test]
fn only_telegram_is_heard_at_the_hook() {
    const SECRET: &str = "AbCdEfGhIjKlMnOpQrStUvWxYz_-0123";
    let _shared = shared();
    let server = FakeTelegram::start();
    let folder = tempfile::tempdir().unwrap();
    let file = secret(folder.path(), "telegram.secret", SECRET);
    let lines = format!(
        "mode = \"webhook\"\nhook = \"https://approve.example.org/hooks/telegram\"\n\
         secret_file = \"{file}\"\n"
    );
    let fixture = Fixture::new(installation_with_channels(folder.path(), &server.url, &lines));
    let told = server.call("setWebhook", |_| true);
    assert_eq!(told.body["secret_token"], SECRET);
    let mut hook = Client::new(fixture.gate.people);
    let mut number = 0;
    let mut update = |mut update: Value| {
        number += 1;
        update["update_id"] = json!(number);
        update.to_string()
    };
    let link = update(fake_telegram::text(OWNER, &format!("/start {}", code(&fixture))));
    assert_eq!(calls(&mut hook, Some(SECRET), &link), 200);
    assert!(linked(&fixture));
    let (id, phrase) = ask(&fixture, 1);
    let fits = |body: &Value| body["text"].as_str().is_some_and(|text| text.contains(&phrase));
    let (approve, _) = buttons(&server.call("sendMessage", fits).body);
    arrives(&fixture, &id);
    let mut rng = Rng(0x5eed);
    let forged = size(1_000, 100_000);
    let mut accepted = 0;
    for _ in 0..forged {
        // Each with a number of its own, so that none is passed over as heard before.
        let tap = update(fake_telegram::tap(OWNER, OWNER, &approve));
        let mut given = SECRET.as_bytes().to_vec();
        let at = usize::from(rng.small(32));
        match rng.below(3) {
            0 => given.truncate(at),
            1 => given[at] = if given[at] == b'x' { b'y' } else { b'x' },
            _ => given.insert(at, b'x'),
        }
        let given = String::from_utf8(given).unwrap();
        accepted += usize::from(calls(&mut hook, Some(&given), &tap) != 401);
    }
    let tap = update(fake_telegram::tap(OWNER, OWNER, &approve));
    assert_eq!(calls(&mut hook, None, &tap), 401);
    assert_eq!((accepted, state(&fixture, &id).as_str()), (0, "pending"));
    report_figures(&format!(
        "telegram: 0 of {forged} calls of the hook with a forged secret were accepted"
    ));
    assert_eq!(calls(&mut hook, Some(SECRET), &tap), 200);
    becomes(&fixture, &id, "approved");
}
