//! A recovery code through a linked account: only the account gets it, never the session.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::{Json, Router};
use countersign_store::{LinkedAccount, Role, Store as _};
use countersign_types::time::Timestamp;
use serde_json::{Value, json};

use crate::test_daemon::{ApiSide, TestDaemon};

type Sent = Arc<Mutex<Vec<(String, Value)>>>;

const LINE: &str = "POST /v1/people/ana/recovery";

async fn platform(State(sent): State<Sent>, request: Request) -> Json<Value> {
    let path = request.uri().path().to_owned();
    let bytes = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
    sent.lock().unwrap().push((path, serde_json::from_slice(&bytes).unwrap_or_default()));
    // What Telegram, Slack and Discord answer.
    Json(json!({"ok": true, "result": {"message_id": 5}, "ts": "1.2", "id": "900"}))
}

/// A daemon with a stand-in for Telegram, and what was sent to it.
async fn with_telegram() -> (TestDaemon, Sent, tempfile::TempDir) {
    with_platform("kind = \"telegram\"\nchat = -100\n").await
}

/// A daemon with a stand-in for a chat platform, and what was sent to it.
async fn with_platform(settings: &str) -> (TestDaemon, Sent, tempfile::TempDir) {
    let (folder, sent) = (tempfile::tempdir().unwrap(), Sent::default());
    let secret = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        file
    };
    let token = secret("token", "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let signing = secret("signing", "8f742231b10e8888abcd99yyyzzz85a5");
    let settings = settings.replace("SIGNING", &signing.display().to_string());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(platform).with_state(Arc::clone(&sent));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let section = format!(
        "[channels.chat]\n{settings}token_file = \"{}\"\n\
         base_url = \"http://{address}\"\nallow_private = true\n",
        token.display()
    );
    let daemon = TestDaemon::with("", &section).await;
    daemon.person("ana", Role::Approver).await;
    (daemon, sent, folder)
}

async fn link(daemon: &TestDaemon, account: &str, active_from: Timestamp) {
    let account = LinkedAccount {
        channel: "chat".to_owned(),
        account: account.to_owned(),
        person: "ana".to_owned(),
        called: "Ana".to_owned(),
        linked: daemon.now(),
        active_from,
        ended: None,
    };
    daemon.gate.store().save_account(account, daemon.note()).await.unwrap();
    daemon.api.directory.reload(daemon.gate.store()).await.unwrap();
}

#[tokio::test]
async fn a_code_goes_to_the_linked_account_and_never_to_the_session() {
    let (daemon, sent, _folder) = with_telegram().await;
    let owner = daemon.owner().await;
    let none = daemon.change(&owner, LINE, Some(json!({}))).await;
    assert_eq!(none.status, 409, "no account: {:?}", none.body);
    link(&daemon, "77", daemon.now()).await;
    let stolen = daemon.by(&owner, ApiSide::People, LINE, Some(json!({}))).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let ana = daemon.login("ana", "terminal", 1_000_000).await;
    assert_eq!(daemon.change(&ana, LINE, Some(json!({}))).await.status, 403, "no administrator");
    assert!(sent.lock().unwrap().is_empty());
    let done = daemon.change(&owner, LINE, Some(json!({}))).await;
    assert_eq!(done.status, 200, "{:?}", done.body);
    assert_eq!(done.body, json!({"name": "ana", "channel": "chat"}));
    let messages = sent.lock().unwrap().clone();
    let direct: Vec<_> = messages.iter().filter(|(_, body)| body["chat_id"] == 77).collect();
    assert_eq!(direct.len(), 1, "{messages:?}");
    let text = direct[0].1["text"].as_str().unwrap();
    let code = text.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    // Nothing else has the code: neither the group, nor the response, nor the ledger.
    assert!(!done.body.to_string().contains(&code));
    assert!(
        !messages
            .iter()
            .any(|(_, body)| { body["chat_id"] != 77 && body.to_string().contains(&code) })
    );
    let ledger = daemon.ledger().await;
    assert!(!serde_json::to_string(&ledger).unwrap().contains(&code));
    let entry = ledger.iter().find(|entry| entry["facts"]["what"] == "recovery code sent");
    assert_eq!(entry.unwrap()["facts"]["by"], "owner");
    let body = json!({"name": "ana", "code": code});
    let used = daemon.ask(ApiSide::People, "POST /v1/recover", &[], Some(body)).await;
    assert_eq!(used.status, 200, "{:?}", used.body);
}

/// An account that an attacker has just linked gets no code before its waiting period ends.
#[tokio::test]
async fn a_new_account_and_a_group_get_no_code() {
    let (daemon, sent, _folder) = with_telegram().await;
    let owner = daemon.owner().await;
    link(&daemon, "78", Timestamp(daemon.now().0 + 60_000)).await;
    link(&daemon, "-100", daemon.now()).await;
    let refused = daemon.change(&owner, LINE, Some(json!({}))).await;
    assert_eq!(refused.status, 409, "{:?}", refused.body);
    assert!(sent.lock().unwrap().iter().all(|(_, body)| !body.to_string().contains("code")));
    assert!(!daemon.state().join("recovery/ana.json").exists());
}

/// Whether a message that the platform got goes to the person.
type IsDirect<'a> = &'a dyn Fn(&(String, Value)) -> bool;

/// Slack posts to the id of the person, Discord opens a channel with the person first.
#[tokio::test]
async fn a_code_by_slack_or_discord_goes_to_the_person_alone() {
    let slack = "kind = \"slack\"\nchannel = \"C0123456789\"\nsigning_secret_file = \"SIGNING\"\n";
    let discord = "kind = \"discord\"\nchannel = \"1300000000000000001\"\npoll = true\n";
    let slack_body =
        |(path, body): &(String, Value)| path == "/chat.postMessage" && body["channel"] == "U0077";
    let discord_body = |(path, _): &(String, Value)| path.ends_with("/channels/900/messages");
    let cases: [(&str, &str, &str, IsDirect); 2] =
        [(slack, "T0001.U0077", "text", &slack_body), (discord, "77", "content", &discord_body)];
    for (settings, account, member, is_direct) in cases {
        let (daemon, sent, _folder) = with_platform(settings).await;
        let owner = daemon.owner().await;
        link(&daemon, account, daemon.now()).await;
        let done = daemon.change(&owner, LINE, Some(json!({}))).await;
        assert_eq!(done.body, json!({"name": "ana", "channel": "chat"}), "{account}");
        let messages = sent.lock().unwrap().clone();
        let direct: Vec<_> = messages.iter().filter(|one| is_direct(one)).collect();
        assert_eq!(direct.len(), 1, "{messages:?}");
        // Discord reads Markdown, so the text is escaped there.
        let plain = |text: &str| text.replace('\\', "");
        let text = plain(direct[0].1[member].as_str().unwrap());
        let code = text.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
        let has_code = |one: &&(String, Value)| plain(&one.1.to_string()).contains(&code);
        assert_eq!(messages.iter().filter(has_code).count(), 1, "{messages:?}");
        if account == "77" {
            let opened = |(path, body): &&(String, Value)| {
                path.ends_with("/users/@me/channels") && body["recipient_id"] == "77"
            };
            assert_eq!(messages.iter().filter(opened).count(), 1, "{messages:?}");
        }
        let body = json!({"name": "ana", "code": code});
        let used = daemon.ask(ApiSide::People, "POST /v1/recover", &[], Some(body)).await;
        assert_eq!(used.status, 200, "{:?}", used.body);
    }
}
