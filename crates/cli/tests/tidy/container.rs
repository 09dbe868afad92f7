//! The container image: what it copies exists, and the commands that it runs are ours.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::files::root;

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The instructions, with continued lines joined.
fn instructions() -> Vec<Vec<String>> {
    let joined = text("Dockerfile").replace("\\\n", " ");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    joined.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(words).collect()
}

#[test]
fn every_copied_file_exists_or_is_built() {
    let ignored = text(".dockerignore");
    let cargo = text("Cargo.toml");
    let mut built = Vec::new();
    for words in instructions().iter().filter(|words| words[0] == "COPY") {
        let from_build = words.iter().any(|word| word == "--from=build");
        let paths: Vec<&String> =
            words[1..].iter().filter(|word| !word.starts_with("--")).collect();
        for path in &paths[..paths.len() - 1] {
            if from_build {
                built.push((*path).clone());
            } else {
                assert!(root().join(path).exists(), "COPY {path}");
                let first = Path::new(path).iter().next().unwrap().to_str().unwrap();
                assert!(!ignored.lines().any(|line| line == first), "{path} is ignored");
            }
        }
    }
    assert!(built.len() >= 3, "{built:?}");
    let run: String = instructions()
        .iter()
        .filter(|words| words[0] == "RUN")
        .flatten()
        .fold(String::new(), |text, word| text + word + " ");
    for path in built {
        let (profile, binary) = path.strip_prefix("/src/target/").unwrap().split_once('/').unwrap();
        let known = profile == "release" || cargo.contains(&format!("[profile.{profile}]"));
        assert!(known, "no profile {profile}");
        let option =
            if profile == "release" { "--release".into() } else { format!("--profile {profile}") };
        let line = format!("cargo build {option} --locked -p countersign --bin {binary} ");
        assert!(run.contains(&line), "{path} is not built by: {line}");
    }
}

#[test]
fn the_compiler_of_the_image_is_new_enough() {
    let cargo = text("Cargo.toml");
    let needed = cargo.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(text("Dockerfile").contains(&format!("FROM rust:{needed}-")), "{needed}");
}

#[test]
fn the_commands_and_the_configuration_of_the_image_are_accepted() {
    let binary = env!("CARGO_BIN_EXE_countersign");
    let files = text("Dockerfile") + &text("compose.yaml");
    let commands = [
        (vec!["serve"], "CMD [\"serve\"]"),
        (vec!["service", "health"], "CMD [\"countersign\", \"service\", \"health\"]"),
        (vec!["service", "first-passphrase"], "countersign service first-passphrase"),
        (vec!["keys", "trust"], "countersign keys trust /run/countersign/daemon.pub"),
        (vec!["ask"], "countersign ask --command 'git status'"),
    ];
    for (words, shown) in commands {
        assert!(files.contains(shown), "{shown}");
        let output = Command::new(binary).args(&words).arg("--help").output().unwrap();
        assert!(output.status.success(), "{words:?}");
        if words == ["ask"] {
            let help = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(help.contains("--command") && help.contains("--timeout"), "{help}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let config = root().join("packaging/container/countersign.toml");
    let output = Command::new(binary)
        .args(["config", "check"])
        .env("COUNTERSIGN_CONFIG", &config)
        .env("COUNTERSIGN_STATE", folder.path())
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let copied = format!("packaging/container/{}", config.file_name().unwrap().to_str().unwrap());
    assert!(
        files.contains(&copied)
            && files.contains("COUNTERSIGN_CONFIG=/etc/countersign/countersign.toml")
    );
}

/// The lines of one service of `compose.yaml`.
fn service(name: &str) -> Vec<String> {
    let compose = text("compose.yaml");
    let services = compose.split("\nservices:\n").nth(1).unwrap().split("\nvolumes:\n").next();
    let lines = services.unwrap().lines().skip_while(|line| *line != format!("  {name}:"));
    let rest = lines.skip(1).take_while(|line| line.is_empty() || line.starts_with("   "));
    rest.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_agent_in_its_container_reaches_the_socket_and_nothing_else() {
    let (daemon, agent) = (service("countersign"), service("agent"));
    assert!(agent.iter().any(|line| line == "network_mode: none"), "{agent:?}");
    let shared = r#"volumes: ["socket:/run/countersign:ro"]"#;
    assert!(agent.iter().any(|line| line == shared), "{agent:?}");
    for word in ["networks:", "ports:", "expose:", "links:", "extra_hosts:", "pid:", "ipc:"] {
        assert!(!agent.iter().any(|line| line.starts_with(word)), "{word} {agent:?}");
        let is_published = word == "ports:";
        let found = daemon.iter().any(|line| line.starts_with(word));
        assert_eq!(found, is_published, "{word} {daemon:?}");
    }
    let published = r#"ports: ["127.0.0.1:6001:6001"]"#;
    assert!(daemon.iter().any(|line| line == published), "{daemon:?}");
}
