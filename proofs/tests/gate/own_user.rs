//! Two real Unix users: an agent that does not run as the daemon's user can ask, and nothing else.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proof_skip::{Cause, skip};
use proofs::installation::{TestInstallation, UNLIMITED, binary};
use serde_json::Value;

use crate::fixture::{Fixture, decide, report_figures, shared};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gate/own_user.py");

/// Two users and the group of the agents; removed with the proof.
struct Accounts {
    daemon: String,
    agent: String,
    group: String,
}

impl Accounts {
    fn create() -> Option<Accounts> {
        let id = std::process::id();
        let name = |role: &str| format!("cs-proof-{role}-{id}");
        let accounts =
            Accounts { daemon: name("daemon"), agent: name("agent"), group: name("group") };
        let Accounts { daemon, agent, group } = &accounts;
        let plain = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"];
        let made = succeeds(&["groupadd", "--system", group])
            && [daemon, agent].iter().all(|user| {
                succeeds(&[&["useradd", "--user-group"], &plain[..], &[user.as_str()]].concat())
            });
        made.then_some(accounts)
    }

    /// A program as one of the users, with the group of the agents or without it, and without any
    /// other privilege.
    fn words<'a>(user: &'a str, group: Option<&'a str>) -> Vec<String> {
        let groups = group.map_or("--clear-groups".to_owned(), |group| format!("--groups={group}"));
        let words = ["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
        let (user, primary) = (format!("--reuid={user}"), format!("--regid={}", primary(user)));
        let words = ["setpriv"].into_iter().chain(words).map(str::to_owned);
        words.chain([user, primary, groups]).collect()
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        for user in [&self.daemon, &self.agent] {
            succeeds(&["userdel", user]);
        }
        succeeds(&["groupdel", &self.group]);
    }
}

fn succeeds(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    let status = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The primary group of a user.
fn primary(user: &str) -> u32 {
    id(&["-g", user])
}

fn id(words: &[&str]) -> u32 {
    let output = Command::new("id").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

/// Files as `countersign service install --system --own-user` lays them out: root owns program,
/// configuration and unit, and the daemon's user owns state and socket.
fn lay_out(folder: &Path, accounts: &Accounts) -> TestInstallation {
    let settings = format!(
        "socket_mode = \"0660\"\nsocket_group = \"{}\"\nconfirm_without_token = false\n{UNLIMITED}",
        accounts.group
    );
    let installation = TestInstallation::new(folder, &settings).unwrap();
    let (uid, gid) = (id(&["-u", &accounts.daemon]), primary(&accounts.daemon));
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(folder, 0o755);
    for (name, permissions) in [("state", 0o700), ("run", 0o755)] {
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        mode(&path, permissions);
        chown(&path, Some(uid), Some(gid)).unwrap();
    }
    // This daemon speaks no TLS; one that does keeps its key here, with this mode.
    let key = folder.join("state/tls.key");
    fs::write(&key, "a key").unwrap();
    mode(&key, 0o600);
    chown(&key, Some(uid), Some(gid)).unwrap();
    let config = folder.join("countersign.toml");
    chown(&config, Some(0), Some(gid)).unwrap();
    mode(&config, 0o640);
    let unit = folder.join("countersign.service");
    fs::write(&unit, "").unwrap();
    mode(&unit, 0o644);
    fs::create_dir(folder.join("bin")).unwrap();
    mode(&folder.join("bin"), 0o755);
    let built = binary().unwrap();
    let program = folder.join("bin").join(built.file_name().unwrap());
    fs::copy(built, &program).unwrap();
    mode(&program, 0o755);
    fs::copy(SCRIPT, folder.join("agent.py")).unwrap();
    mode(&folder.join("agent.py"), 0o644);
    // The user of the daemon, with the group to which it gives the socket.
    let words = Accounts::words(&accounts.daemon, Some(&accounts.group));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    installation.program(&program).wrapped(&words)
}

/// Runs the agent's script as a user; returns what it printed.
fn run_script(
    folder: &Path,
    fixture: &Fixture,
    (user, group): (&str, Option<&str>),
    request: &str,
    mode: &str,
) -> Value {
    let words = Accounts::words(user, group);
    let mut command = Command::new(&words[0]);
    let numbers = [
        fixture.gate.agents.port().to_string(),
        fixture.gate.people.port().to_string(),
        fixture.gate.id().to_string(),
    ];
    command.args(&words[1..]).arg("python3").arg(folder.join("agent.py")).arg(folder);
    command.args(numbers).args([request, mode]).current_dir("/").env_clear();
    let output = command.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn results(value: Value) -> BTreeMap<String, String> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn an_agent_of_another_user_can_ask_and_nothing_else() {
    let _shared = shared();
    if id(&["-u"]) != 0 {
        return skip(Cause::Machine, "only root can create the two users");
    }
    if Command::new("python3").arg("--version").output().is_err() {
        return skip(Cause::Tool, "python3 is not installed");
    }
    let Some(accounts) = Accounts::create() else {
        return skip(Cause::Machine, "the two users cannot be created");
    };
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().to_owned();
    let mut fixture = Fixture::new(lay_out(&path, &accounts));
    let agent = (accounts.agent.as_str(), Some(accounts.group.as_str()));
    let run = |fixture: &Fixture, user, request: &str, mode: &str| {
        run_script(&path, fixture, user, request, mode)
    };
    // The agent asks over the socket, and the daemon knows it by its user.
    let asked = run(&fixture, agent, "-", "submit");
    assert_eq!(asked["safe"][1]["state"], "approved", "{asked}");
    assert_eq!(asked["risky"][1]["state"], "pending", "{asked}");
    assert_eq!(asked["found"][0], 200, "{asked}");
    let request = asked["risky"][1]["id"].as_str().unwrap().to_owned();
    let digest = asked["risky"][1]["digest"].as_str().unwrap().to_owned();
    // The attempts are real: the daemon's own user succeeds with all that change nothing.
    let own = (accounts.daemon.as_str(), Some(accounts.group.as_str()));
    for (name, result) in results(run(&fixture, own, &request, "control")) {
        assert_eq!(result, "done", "the daemon's own user cannot {name}, so this proves nothing");
    }
    let attempts = results(run(&fixture, agent, &request, "attack"));
    for (name, result) in &attempts {
        assert_ne!(result, "done", "an agent of another user can {name}");
    }
    assert!(fixture.gate.is_alive(), "an agent of another user stopped the daemon");
    // A user outside the group cannot even ask.
    let connected = run(&fixture, ("nobody", None), "-", "connect");
    assert_ne!(connected["connect"], "done", "{connected}");
    assert_eq!(run(&fixture, agent, "-", "connect")["connect"], "done");
    // The request is still pending, and a person decides it.
    let decided = decide(&mut fixture.owner_client(), &request, &digest, true).unwrap();
    assert_eq!(decided.status, 200, "{}", decided.body);
    report_figures(&format!("{} attempts of another user, none succeeded", attempts.len()));
}
