//! The rules of a project: what they restrict, who can adopt them, and every way around them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use countersign_facts::{ProjectFile, ProjectLook};
use countersign_risk::assess::Assessment;
use countersign_risk::call::Call;
use countersign_risk::verdict::Verdict;
use countersign_types::{POLICY_MARKER, PROJECT_FILE};
use serde_json::{Value, json};

use super::caller;
use crate::gate::Caller;
use crate::test_daemon::{ApiSide, TestDaemon};

const LIMIT: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n";
const RULES: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n\
    [[policy.rule]]\nname = \"no-destroy\"\ndecision = \"deny\"\n\
    commands = [\"terraform destroy\", \"cat\"]\n\
    [[policy.rule]]\nname = \"deploys\"\ndecision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";
const DEPLOY: &str = "acmectl deploy";
const BUILD: &str = "mkdir build";

/// A repository with another one inside, and a folder outside of it.
struct Shop {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Shop {
    fn new(text: &str) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for name in ["shop/.git", "shop/src", "shop/vendor/lib/.git", "other"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let shop = Shop { _folder: folder, base };
        shop.write(text);
        shop
    }

    fn file(&self) -> PathBuf {
        self.root().join(PROJECT_FILE)
    }

    fn root(&self) -> PathBuf {
        self.base.join("shop")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn adoption(&self) -> Value {
        json!({ "folder": self.root(), "text": fs::read_to_string(self.file()).unwrap() })
    }
}

fn hook() -> Caller {
    Caller { is_socket_peer: true, ..caller("claude") }
}

async fn seen_by(
    daemon: &TestDaemon,
    caller: &Caller,
    (command, cwd): (&str, &Path),
    observed: Option<ProjectLook>,
) -> Assessment {
    let mut call = Call::shell(command);
    call.context.cwd = cwd.to_str();
    let projects = daemon.gate.find_projects(caller, &call.context, observed).await;
    daemon.gate.assess_in(&mut call, caller, &projects).0
}

async fn verdict(daemon: &TestDaemon, command: &str, cwd: &Path) -> Verdict {
    seen_by(daemon, &hook(), (command, cwd), None).await.verdict
}

async fn ask(daemon: &TestDaemon, agent: &str, command: &str, cwd: &Path) -> Value {
    let body = json!({ "command": command, "cwd": cwd });
    daemon.by(agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_restricts_at_once_wherever_the_call_runs_in_it() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let agent = daemon.agent("coder", 3_600_000).await;
    symlink(shop.base.join("shop/src"), shop.base.join("link")).unwrap();
    for cwd in ["shop", "shop/src", "shop/vendor/lib", "shop/missing", "link"] {
        let cwd = shop.base.join(cwd);
        for command in ["cat a.txt", "sudo terraform destroy"] {
            let reply = ask(&daemon, &agent, command, &cwd).await;
            assert_eq!(reply["type"], "urn:countersign:problem:refused", "{cwd:?}: {reply}");
            let detail = reply["detail"].as_str().unwrap();
            assert!(detail.contains("project:no-destroy"), "{detail}");
        }
    }
    let other = shop.base.join("other");
    assert_eq!(ask(&daemon, &agent, "cat a.txt", &other).await["state"], "approved");
    // The session's project counts in another working directory.
    let body = json!({ "command": "cat a.txt", "cwd": other, "project": shop.root() });
    let reply = daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body;
    assert_eq!(reply["type"], "urn:countersign:problem:refused", "{reply}");
    let entries = daemon.ledger().await;
    let denied = entries.iter().rfind(|entry| entry["kind"] == "deny").unwrap();
    assert_eq!(denied["facts"]["rules"], json!(["project:no-destroy"]), "{denied}");
    // Nothing is allowed, and the card says what waits.
    let asked = ask(&daemon, &agent, DEPLOY, &shop.root()).await;
    assert_eq!(asked["state"], "pending", "{asked}");
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let owner = daemon.owner().await;
    let shown = daemon.by(&owner, ApiSide::People, &line, None).await.body.to_string();
    assert!(shown.contains("1 rule of this project waits for adoption"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_leaves_only_reading() {
    let (daemon, shop) = (TestDaemon::default().await, Shop::new(""));
    let src = shop.base.join("shop/src");
    assert_eq!(verdict(&daemon, BUILD, &src).await, Verdict::Allow);
    let asks = async |problem: &str| {
        let seen = seen_by(&daemon, &hook(), (BUILD, &src), None).await;
        assert_eq!(seen.verdict, Verdict::Ask, "{problem}");
        let ruling = seen.policy.unwrap();
        assert!(ruling.needs_person());
        let file = shop.file().display().to_string();
        assert!(ruling.reason.starts_with(&file), "{}", ruling.reason);
        assert!(ruling.reason.contains(problem), "{}", ruling.reason);
        assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Allow);
    };
    shop.write("[policy]\nenabled = false\n");
    asks("unknown field").await;
    shop.write(&"#".repeat(64 << 10));
    asks("larger than").await;
    fs::write(shop.file(), [0xff]).unwrap();
    asks("UTF-8").await;
    fs::remove_file(shop.file()).unwrap();
    symlink("/dev/null", shop.file()).unwrap();
    asks("symbolic link").await;
    fs::remove_file(shop.file()).unwrap();
    fs::create_dir(shop.file()).unwrap();
    asks("regular file").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_rules_allow_exactly_where_and_what_a_person_adopted() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let (owner, root) = (daemon.owner().await, shop.root());
    let src = shop.base.join("shop/src");
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    let line = "POST /v1/policy/projects";
    let stolen = daemon.by(&owner, ApiSide::People, line, Some(shop.adoption())).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    let adopted = daemon.change(&owner, line, Some(shop.adoption())).await;
    assert_eq!(adopted.status, 200, "{}", adopted.body);
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Allow);
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny);
    // Not in a repository inside, not elsewhere, and not for an agent that only claims a folder.
    for cwd in ["shop/vendor/lib", "other", "shop/missing"] {
        let cwd = shop.base.join(cwd);
        assert_eq!(verdict(&daemon, DEPLOY, &cwd).await, Verdict::Ask, "{cwd:?}");
    }
    let claimed = seen_by(&daemon, &caller("coder"), (DEPLOY, &src), None).await;
    assert_eq!(claimed.verdict, Verdict::Ask);
    let elsewhere = json!({ "folder": shop.base.join("other"), "text": RULES });
    assert_eq!(daemon.change(&owner, line, Some(elsewhere)).await.status, 200);
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Allow);
    // It is listed, and in the ledger.
    let listed = daemon.by(&owner, ApiSide::People, "GET /v1/policy", None).await.body;
    assert_eq!(listed["projects"].as_array().unwrap().len(), 2, "{listed}");
    let entries = daemon.ledger().await;
    let entry = |entry: &&Value| entry["facts"]["adopted_project"] == json!(root);
    assert_eq!(entries.iter().find(entry).unwrap()["person"], "owner");
    // The adoption lasts, and can be revoked.
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Allow);
    let revoked = json!({ "folder": root });
    let line = "POST /v1/policy/projects/revoke";
    assert_eq!(daemon.change(&owner, line, Some(revoked.clone())).await.status, 200);
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    assert_eq!(daemon.change(&owner, line, Some(revoked)).await.status, 409);
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_or_deleted_file_allows_nothing_and_frees_nothing() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let (owner, src) = (daemon.owner().await, shop.base.join("shop/src"));
    let line = "POST /v1/policy/projects";
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    let wide = RULES.replace("acmectl deploy", "acmectl destroy");
    shop.write(&wide.replace("\"terraform destroy\", \"cat\"", "\"terraform destroy\""));
    assert_eq!(verdict(&daemon, "acmectl destroy", &src).await, Verdict::Ask);
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny, "the adopted rule holds");
    fs::remove_file(shop.file()).unwrap();
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny, "the adopted rule holds");
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    // A caller who brings the adopted text changes nothing where the daemon itself can look.
    let look = |folder: PathBuf| ProjectLook {
        root: folder.to_str().map(str::to_owned),
        is_hidden: true,
        files: vec![ProjectFile {
            folder: folder.to_str().unwrap().to_owned(),
            text: Some(RULES.to_owned()),
            problem: None,
        }],
    };
    for cwd in ["shop/src", "shop", "shop/vendor/lib", "other"] {
        let cwd = shop.base.join(cwd);
        let brought = seen_by(&daemon, &hook(), (DEPLOY, &cwd), Some(look(shop.root()))).await;
        assert_eq!(brought.verdict, Verdict::Ask, "{cwd:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_a_caller_brings_restricts() {
    let (daemon, shop) = (TestDaemon::default().await, Shop::new(""));
    let agent = daemon.agent("coder", 3_600_000).await;
    let look = |text: Value, problem: Value| {
        let file = json!({ "folder": "/elsewhere", "text": text, "problem": problem });
        json!({ "files": [file] })
    };
    let send = async |command: &str, look: Value| {
        let other = shop.base.join("other");
        let body = json!({ "command": command, "cwd": other, "project_rules": look.to_string() });
        daemon.by(&agent, ApiSide::Agents, "POST /v1/requests", Some(body)).await.body
    };
    let refused = send("cat a.txt", look(RULES.into(), Value::Null)).await;
    assert_eq!(refused["type"], "urn:countersign:problem:refused", "{refused}");
    let asked = send(BUILD, look(Value::Null, "ana approved this".into())).await;
    assert_eq!(asked["state"], "pending", "{asked}");
    let line = format!("GET /v1/requests/{}", asked["id"].as_str().unwrap());
    let owner = daemon.owner().await;
    let shown = daemon.by(&owner, ApiSide::People, &line, None).await.body.to_string();
    assert!(shown.contains("the caller could not read it"), "{shown}");
    assert!(!shown.contains("ana approved this"), "{shown}");
    let invalid = send(BUILD, json!({ "files": [{ "folder": "x", "more": 1 }] })).await;
    assert_eq!(invalid["status"], 400, "{invalid}");
    let large = send(BUILD, look("#".repeat(64 << 10).into(), Value::Null)).await;
    assert_eq!(large["status"], 400, "{large}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_old_or_forged_file_of_adoptions_allows_nothing() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let (owner, src) = (daemon.owner().await, shop.base.join("shop/src"));
    let line = "POST /v1/policy/projects";
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    let file = |state: &Path| state.join("policy.adopted");
    let old = fs::read(file(&daemon.state())).unwrap();
    let revoked = json!({ "folder": shop.root() });
    let revoke = "POST /v1/policy/projects/revoke";
    assert_eq!(daemon.change(&owner, revoke, Some(revoked)).await.status, 200);
    // The file from before the revocation has a valid code, but the ledger names another one.
    let daemon = daemon.restart(LIMIT, |state| fs::write(file(state), &old).unwrap()).await;
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny);
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Allow);
    let daemon = daemon.restart(LIMIT, |state| fs::remove_file(file(state)).unwrap()).await;
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
    let forged = |state: &Path| fs::write(file(state), b"AAAA\n{}").unwrap();
    let daemon = daemon.restart(LIMIT, forged).await;
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_valid_rules_are_adopted_and_only_by_administrators() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let owner = daemon.owner().await;
    daemon.person("bo", countersign_store::Role::Approver).await;
    let bo = daemon.login("bo", "terminal", 3_600_000).await;
    let line = "POST /v1/policy/projects";
    let by_bo = daemon.change(&bo, line, Some(shop.adoption())).await;
    assert_eq!(by_bo.status, 403, "{}", by_bo.body);
    let failing = format!("{RULES}[[policy.test]]\ncall = \"id\"\nexpect = \"deny\"\n");
    for (folder, text) in [
        (shop.root().to_str().unwrap(), "[policy"),
        (shop.root().to_str().unwrap(), &failing),
        ("shop", RULES),
        ("/", RULES),
        ("/srv/../etc", RULES),
        ("/srv/a\nb", RULES),
    ] {
        let body = json!({ "folder": folder, "text": text });
        assert_eq!(daemon.change(&owner, line, Some(body)).await.status, 400, "{folder} {text}");
    }
    let src = shop.base.join("shop/src");
    assert_eq!(verdict(&daemon, DEPLOY, &src).await, Verdict::Ask);
}

fn has_marker(daemon: &TestDaemon) -> bool {
    daemon.state().with_file_name("countersign-gateways").join(POLICY_MARKER).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_adoptions_make_every_call_of_their_project_a_question() {
    let (mut daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let (owner, src) = (daemon.owner().await, shop.base.join("shop/src"));
    let (line, other) = ("POST /v1/policy/projects", shop.base.join("other"));
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    let first = fs::read(daemon.state().join("policy.adopted")).unwrap();
    // The agent deletes the project's file as well, so that only the adoption restricts.
    fs::remove_file(shop.file()).unwrap();
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny);
    let damages: [&dyn Fn(&Path); 3] = [
        &|file| fs::write(file, &first[..first.len() - 9]).unwrap(),
        &|file| fs::write(file, "AAAA\n{}").unwrap(),
        &|file| fs::remove_file(file).unwrap(),
    ];
    for damage in damages {
        daemon = daemon.restart(LIMIT, |state| damage(&state.join("policy.adopted"))).await;
        for command in ["cat a.txt", BUILD, "sudo terraform destroy"] {
            let seen = seen_by(&daemon, &hook(), (command, &src), None).await;
            assert_eq!(seen.verdict, Verdict::Ask, "{command}");
            let reason = seen.policy.unwrap().reason;
            assert!(reason.contains("policy.adopted was deleted or replaced"), "{reason}");
        }
        assert_eq!(verdict(&daemon, BUILD, &other).await, Verdict::Allow);
        assert!(has_marker(&daemon), "hooks ask about reads");
        let shown = daemon.by(&owner, ApiSide::People, "GET /v1/policy", None).await.body;
        assert_eq!(shown["lost_projects"], json!([shop.root()]), "{shown}");
        let ready = daemon.ask(ApiSide::Agents, "GET /ready", &[], None).await.body;
        assert_eq!(ready["lost_adoptions"], 1, "{ready}");
    }
    // Another adoption ends nothing; only a decision about this project does.
    let more = json!({ "folder": other, "text": RULES });
    assert_eq!(daemon.change(&owner, line, Some(more)).await.status, 200);
    let mut daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(verdict(&daemon, BUILD, &src).await, Verdict::Ask);
    assert_eq!(verdict(&daemon, "cat a.txt", &other).await, Verdict::Deny);
    // An older file has the adoptions of its time, and lacks the others.
    let second = fs::read(daemon.state().join("policy.adopted")).unwrap();
    daemon = daemon
        .restart(LIMIT, |state| fs::write(state.join("policy.adopted"), &first).unwrap())
        .await;
    assert_eq!(verdict(&daemon, "cat a.txt", &src).await, Verdict::Deny);
    assert_eq!(verdict(&daemon, BUILD, &other).await, Verdict::Ask);
    daemon = daemon
        .restart(LIMIT, |state| fs::write(state.join("policy.adopted"), &second).unwrap())
        .await;
    let line = "POST /v1/policy/projects/revoke";
    let revoked = json!({ "folder": shop.root() });
    assert_eq!(daemon.change(&owner, line, Some(revoked)).await.status, 200);
    assert_eq!(verdict(&daemon, BUILD, &src).await, Verdict::Allow);
    let daemon = daemon.restart(LIMIT, |_| {}).await;
    assert_eq!(verdict(&daemon, BUILD, &src).await, Verdict::Allow);
    assert_eq!(verdict(&daemon, "cat a.txt", &other).await, Verdict::Deny);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_ask_about_reads_while_adopted_rules_restrict() {
    let (daemon, shop) = (TestDaemon::with("", LIMIT).await, Shop::new(RULES));
    let owner = daemon.owner().await;
    let (line, revoke) = ("POST /v1/policy/projects", "POST /v1/policy/projects/revoke");
    assert!(!has_marker(&daemon));
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    assert!(has_marker(&daemon), "the agent may delete the file of the project");
    let marker = daemon.state().with_file_name("countersign-gateways").join(POLICY_MARKER);
    fs::remove_file(&marker).unwrap();
    daemon.gate.restore_markers();
    assert!(has_marker(&daemon), "and the marker");
    let daemon = daemon.restart(LIMIT, |_| fs::remove_file(&marker).unwrap()).await;
    assert!(has_marker(&daemon), "after a restart");
    let body = json!({ "folder": shop.root() });
    assert_eq!(daemon.change(&owner, revoke, Some(body)).await.status, 200);
    assert!(!has_marker(&daemon));
    // Rules that only allow cannot stop a call that only reads.
    let allows = format!(
        "{LIMIT}{}",
        RULES.split_at(RULES.find("[[policy.rule]]\nname = \"deploys").unwrap()).1
    );
    let body = json!({ "folder": shop.root(), "text": allows });
    assert_eq!(daemon.change(&owner, line, Some(body)).await.status, 200);
    assert!(!has_marker(&daemon));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_names_channels_only_after_its_adoption() {
    const TOLD: &str = "[[policy.rule]]\nname = \"told\"\ndecision = \"ask\"\n\
        commands = [\"mkdir\"]\nroute = [\"desktop\"]\n";
    let (daemon, shop) = (TestDaemon::default().await, Shop::new(TOLD));
    let (owner, root) = (daemon.owner().await, shop.root());
    let look = ProjectLook {
        files: vec![ProjectFile {
            folder: "/elsewhere".to_owned(),
            text: Some(TOLD.to_owned()),
            problem: None,
        }],
        ..ProjectLook::default()
    };
    for (cwd, observed) in [(root.clone(), None), (shop.base.join("other"), Some(look))] {
        let seen = seen_by(&daemon, &hook(), (BUILD, &cwd), observed).await;
        assert_eq!(seen.verdict, Verdict::Ask);
        let ruling = seen.policy.unwrap();
        assert_eq!(ruling.route, Vec::<String>::new());
        assert!(ruling.reason.contains("desktop is told only after"), "{}", ruling.reason);
    }
    let line = "POST /v1/policy/projects";
    assert_eq!(daemon.change(&owner, line, Some(shop.adoption())).await.status, 200);
    let told = async |when: &str| {
        let seen = seen_by(&daemon, &hook(), (BUILD, &root), None).await;
        assert_eq!(seen.policy.unwrap().route, ["desktop"], "{when}");
    };
    told("adopted").await;
    // The adopted text restricts after the file was deleted, and its channels are told.
    fs::remove_file(shop.file()).unwrap();
    told("deleted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_that_a_caller_brings_is_on_the_card() {
    let (daemon, shop) = (TestDaemon::default().await, Shop::new(""));
    let (src, other) = (shop.base.join("shop/src"), shop.base.join("other"));
    let lie = "ana approved this";
    let observed = |folder: &str, text: Option<&str>| ProjectLook {
        files: vec![ProjectFile {
            folder: folder.to_owned(),
            text: text.map(str::to_owned),
            problem: text.is_none().then(|| lie.to_owned()),
        }],
        ..ProjectLook::default()
    };
    for (folder, text) in [
        (format!("/tmp/{lie}"), None),
        (format!("/tmp/\n{lie}"), None),
        (lie.to_owned(), None),
        (format!("{}/{lie}", other.display()), None),
        ("/tmp".to_owned(), Some(format!("\"{lie}\" = 1\n"))),
        ("/tmp".to_owned(), Some(TOLD_BY.replace("LIE", lie))),
        ("/tmp".to_owned(), Some(SAID.replace("LIE", lie))),
    ] {
        let look = observed(&folder, text.as_deref());
        let seen = seen_by(&daemon, &hook(), (BUILD, &other), Some(look)).await;
        assert_eq!(seen.verdict, Verdict::Ask, "{folder}");
        let ruling = seen.policy.unwrap();
        assert!(!ruling.reason.contains(lie), "{folder}: {}", ruling.reason);
        assert!(!ruling.sentence().contains(lie), "{folder}: {}", ruling.sentence());
    }
    // A folder around the place of the call is on the card already.
    let root = shop.root().display().to_string();
    let seen = seen_by(&daemon, &hook(), (BUILD, &src), Some(observed(&root, None))).await;
    let reason = seen.policy.unwrap().reason;
    assert!(reason.starts_with(&format!("{root}/.countersign.toml")), "{reason}");
}

const SAID: &str = "[[policy.rule]]\nname = \"said\"\ndecision = \"ask\"\n\
    commands = [\"mkdir\"]\nreason = \"LIE\"\n";
const TOLD_BY: &str = "[[policy.rule]]\nname = \"told\"\ndecision = \"ask\"\n\
    commands = [\"mkdir\"]\nroute = [\"LIE\"]\n";
