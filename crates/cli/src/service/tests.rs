//! The steps and files of every kind of service are golden files.
//!
//! After an intended change: `UPDATE_GOLDEN=1 cargo test -p countersign --bin countersign service`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_client::{Endpoint, Error};
use countersign_ledger::response_signature::write_public_key;
use ed25519_dalek::SigningKey;
use proof_skip::{Cause, skip};

use super::manage::answers;
use super::spec::{ServiceAccount, ServiceManager, ServiceSpec, is_account_name};
use super::steps::{install_steps, listing, uninstall_steps};
use super::systemd_unit::systemd_unit;

fn system(manager: ServiceManager) -> ServiceSpec {
    let account = ServiceAccount {
        name: "countersign".to_owned(),
        agents: "countersign-agents".to_owned(),
        members: vec!["mia".to_owned()],
        create: manager == ServiceManager::Systemd,
    };
    let sources = ["/home/ana/bin/countersign", "/home/ana/bin/countersign-hook"];
    ServiceSpec::system(manager, account, sources.map(PathBuf::from).to_vec())
}

fn user(manager: ServiceManager) -> ServiceSpec {
    let mut spec =
        ServiceSpec::user(manager, Path::new("/home/ana"), "/home/ana/my bin/countersign".into());
    spec.state = Some("/home/ana/100%/state".into());
    spec
}

fn is_golden(name: &str, spec: &ServiceSpec) {
    let text = listing(&install_steps(spec).unwrap()) + "\n" + &listing(&uninstall_steps(spec));
    // The folders of macOS are those of the machine that runs the test.
    if cfg!(target_os = "macos") {
        return;
    }
    let uid = rustix::process::getuid().as_raw();
    let text = text.replace(&format!("gui/{uid}"), "gui/501");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/service").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, expected, "{} differs: UPDATE_GOLDEN=1 rewrites it", file.display());
}

#[test]
fn every_kind_of_service_is_what_it_was() {
    is_golden("systemd_system.txt", &system(ServiceManager::Systemd));
    is_golden("systemd_user.txt", &user(ServiceManager::Systemd));
    is_golden("launchd_system.txt", &system(ServiceManager::Launchd));
    is_golden("launchd_user.txt", &user(ServiceManager::Launchd));
}

#[test]
fn the_daemon_accepts_the_configuration_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("countersign.toml");
    let text = system(ServiceManager::Systemd).configuration().unwrap();
    std::fs::write(&config, text).unwrap();
    let (state, runtime) = (folder.path().join("state"), folder.path().join("run"));
    let paths = countersign_daemon::config::Paths { config, state, runtime };
    let config = countersign_daemon::config::DaemonConfig::load(&paths).unwrap();
    let socket = config.socket.unwrap();
    assert_eq!((socket.mode, socket.group.as_deref()), (0o660, Some("countersign-agents")));
    assert!(!config.rules.confirm_without_token);
}

#[test]
fn names_cannot_add_settings() {
    for good in ["countersign", "_countersign", "agents-2"] {
        assert!(is_account_name(good), "{good}");
    }
    let long = "a".repeat(33);
    for bad in ["", "root\nUser=root", "a b", "a:b", "-a", "1a", "A", "%u", "a\"", &long] {
        assert!(!is_account_name(bad), "{bad}");
    }
}

#[test]
fn systemd_accepts_the_units() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return skip(Cause::Machine, "systemd is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("countersign.service");
    let analyze = |words: &[&str]| {
        let output = Command::new("systemd-analyze").args(words).arg(&file).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    };
    for mut spec in [system(ServiceManager::Systemd), user(ServiceManager::Systemd)] {
        spec.program = std::env::current_exe().unwrap();
        std::fs::write(&file, systemd_unit(&spec).unwrap()).unwrap();
        let (is_valid, said) = analyze(&["verify", "--man=no"]);
        let own = said.lines().filter(|line| line.contains("countersign.service"));
        assert!(is_valid && own.count() == 0, "{said}");
        if spec.account.is_some() {
            // The threshold is ten times the exposure that systemd prints: the unit has 1.5 of 10.
            let (is_closed, said) = analyze(&["security", "--offline=true", "--threshold=15"]);
            assert!(is_closed, "{said}");
        }
    }
}

#[test]
fn a_program_without_the_published_key_is_not_the_daemon_of_a_system_service() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let agents = Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut input = BufReader::new(stream.unwrap());
            let mut line = String::new();
            while input.read_line(&mut line).unwrap_or(0) > 2 {
                line.clear();
            }
            let body = r#"{"service":"countersign","pending":0}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let reply = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = input.get_mut().write_all(reply.as_bytes());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("daemon.pub");
    let key = SigningKey::from_bytes(&[7; 32]).verifying_key();
    std::fs::write(&file, write_public_key(key.as_bytes())).unwrap();
    answers(&agents, None).unwrap();
    for file in [file, folder.path().join("missing.pub")] {
        let error = answers(&agents, Some(&file)).unwrap_err();
        assert!(matches!(error, Error::Untrusted(_)), "{error}");
    }
}
