//! `install`, `uninstall` and `status` in scratch homes.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::binary::{assert_refused, countersign, stderr, stdout};

/// A home folder that no one else has.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        Home { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = countersign();
        command.args(args).stdin(Stdio::null()).env("HOME", self.folder.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()));
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }
}

const SETTINGS: &str = "{\n  \"env\": {},\n  \"model\": \"opus\"\n}\n";

#[test]
fn from_an_empty_home_to_a_gate_that_holds_and_back() {
    let home = Home::new();
    home.write(".claude/settings.json", SETTINGS);

    let output = home.run(&["install", "claude", "--dry-run"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        shown.contains("+     \"PreToolUse\": [") && shown.contains("    \"env\": {},"),
        "{shown}"
    );
    assert_eq!(home.read(".claude/settings.json"), SETTINGS);

    // Without a person and without --yes nothing is written.
    let output = no_terminal(&home.command(&["install", "claude"]));
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
    assert_eq!(home.read(".claude/settings.json"), SETTINGS);

    let output = home.run(&["install", "claude", "--yes"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in ["Claude Code is protected", "countersign-backup-1", "countersign serve"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let text = home.read(".claude/settings.json");
    for part in
        ["\"env\": {},", "\"onFailure\": \"block\"", "\"timeout\": 86400", "--patience 86100"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(home.read(".claude/settings.json.countersign-backup-1"), SETTINGS);

    let output = home.run(&["install", "claude", "--yes"]);
    assert!(stdout(&output).contains("already"), "{}", stdout(&output));
    assert_eq!(home.read(".claude/settings.json"), text);

    let output = home.run(&["status", "claude"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let output = home.run(&["status", "--json"]);
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen[0]["agent"], "claude");
    assert_eq!(seen[0]["state"], "protected");
    assert_eq!(seen.as_array().unwrap().len(), 8);

    let output = home.run(&["uninstall", "claude", "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(home.read(".claude/settings.json"), SETTINGS);
    assert!(!home.at(".claude/settings.json.countersign-backup-1").exists());
    let output = home.run(&["status", "claude"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("no gate"), "{}", stdout(&output));
}

#[test]
fn a_person_is_asked_and_only_a_yes_writes() {
    let home = Home::new();
    home.write(".claude/settings.json", SETTINGS);
    for (answer, code) in [("\n", 1), ("n\n", 1), ("what\n", 1), ("y\n", 0)] {
        let output = at_a_terminal(&home.command(&["install", "claude"]), answer);
        let shown = stdout(&output);
        assert_eq!(output.status.code(), Some(code), "{answer:?}: {shown}");
        // The question comes after what it is about.
        let (change, question) = (shown.find("onFailure"), shown.find("Write this? [y/N]"));
        assert!(change.is_some() && change < question, "{shown}");
        let text = home.read(".claude/settings.json");
        assert_eq!(text == SETTINGS, code == 1, "{answer:?}: {text}");
    }
}

/// The command that was written, run as the agent runs it.
fn written(home: &Home, input: &str) -> Output {
    let settings = home.read(".claude/settings.json");
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    let hook = &settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
    home.write("input.json", input);
    let shell = home.command(&[]);
    let mut through = Command::new("/bin/sh");
    through.arg("-c").arg(hook.as_str().unwrap());
    for (name, value) in shell.get_envs() {
        match value {
            Some(value) => through.env(name, value),
            None => through.env_remove(name),
        };
    }
    through.stdin(fs::File::open(home.at("input.json")).unwrap()).output().unwrap()
}

#[test]
fn the_command_that_is_written_passes_what_is_harmless_and_refuses_the_rest() {
    let home = Home::new();
    let output = home.run(&["install", "claude", "--yes", "--json", "--patience", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["state"], "protected");
    let call = |command: &str| {
        serde_json::json!({
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": command },
            "tool_use_id": "toolu_1",
            "session_id": "s",
            "cwd": "/",
        })
        .to_string()
    };
    let output = written(&home, &call("ls"));
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "{}"));
    // No daemon answers here, so no one can say yes.
    let output = written(&home, &call("rm -rf /"));
    let refused = stdout(&output).contains("\"deny\"") || output.status.code() == Some(2);
    assert!(refused, "{} {}", stdout(&output), stderr(&output));
    let output = written(&home, "no JSON");
    let refused = stdout(&output).contains("\"deny\"") || output.status.code() == Some(2);
    assert!(refused, "{} {}", stdout(&output), stderr(&output));
}

#[test]
fn what_cannot_be_done_says_why_in_one_line_and_writes_nothing() {
    let home = Home::new();
    assert_refused(&home.run(&["install", "emacs"]), "unknown agent; use claude, codex");
    assert_refused(&home.run(&["install", "hermes", "--project", ".", "--yes"]), "--project");
    assert_refused(&home.run(&["install", "claude", "--json"]), "--yes");
    assert_refused(&home.run(&["install", "claude", "--patience", "90000"]), "90000");
    home.write(".claude/settings.json", "{ broken");
    assert_refused(&home.run(&["install", "claude", "--yes"]), "nothing was written");
    assert_eq!(home.read(".claude/settings.json"), "{ broken");
    let output = home.run(&["install", "claude", "--yes", "--project", "/nonexistent"]);
    assert_refused(&output, "/nonexistent");
}

/// Codex's `app-server`, as far as its documents tell: a stand-in. It sees our hook at the first
/// place of the file and trusts what its configuration names.
const CODEX: &str = r#"#!/bin/sh
read -r line
echo '{"id":1,"result":{}}'
read -r line
read -r line
hooks="$CODEX_HOME/hooks.json"
command=$(sed -n 's/^ *"command": \(".*patience.*"\),$/\1/p' "$hooks" | head -n 1)
grep -q 'trusted_hash = "sha256:abc"' "$CODEX_HOME/config.toml" 2>/dev/null \
  && trust=trusted || trust=untrusted
printf '%s\n' '{"method":"noise"}' "{\"id\":2,\"result\":{\"data\":[{\"hooks\":[{\"key\":\"$hooks:\
pre_tool_use:0:0\",\"command\":$command,\"sourcePath\":\"$hooks\",\"enabled\":true,\"currentHash\":\
\"sha256:abc\",\"trustStatus\":\"$trust\"}]}]}}"
read -r line
"#;

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn codex_is_asked_what_it_would_trust_and_told_to() {
    let home = Home::new();
    let config = "# mine\nmodel = \"x\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\" # yes\n";
    home.write(".codex/config.toml", config);

    // Without Codex here, the person has to do it.
    let output = home.run(&["install", "codex", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("/hooks"), "{}", stdout(&output));
    assert_eq!(home.run(&["status", "codex"]).status.code(), Some(1));

    // A Codex that does not answer is no reason to believe anything.
    program(&home.at("bin/codex"), "#!/bin/sh\nexit 1\n");
    let output = home.run(&["status", "codex"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("could not list its hooks"), "{}", stdout(&output));

    program(&home.at("bin/codex"), CODEX);
    assert!(stdout(&home.run(&["status", "codex"])).contains("does not trust"));
    let output = home.run(&["install", "codex", "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let text = home.read(".codex/config.toml");
    assert!(text.starts_with(config), "{text}");
    let key =
        format!("[hooks.state.\"{}:pre_tool_use:0:0\"]", home.at(".codex/hooks.json").display());
    assert!(text.contains(&key) && !text.contains("[hooks]"), "{text}");
    assert_eq!(home.run(&["status", "codex"]).status.code(), Some(0));

    // A project's gate comes and goes without the person's own.
    fs::create_dir(home.at("project")).unwrap();
    let project = home.at("project").display().to_string();
    home.run(&["install", "codex", "--yes", "--project", &project]);
    assert!(home.at("project/.codex/hooks.json").exists());
    let output = home.run(&["uninstall", "codex", "--yes", "--project", &project]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!home.at("project/.codex").exists());
    assert_eq!(home.run(&["status", "codex"]).status.code(), Some(0));

    // What the person writes later stays, the trust goes with the hook.
    home.write(".codex/config.toml", &text.replace("\"x\"", "\"y\""));
    let output = home.run(&["uninstall", "codex", "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(home.read(".codex/config.toml").trim(), config.replace("\"x\"", "\"y\"").trim());
    assert!(!home.at(".codex/hooks.json").exists());
}

/// Runs a command at a terminal where a person types an answer.
fn at_a_terminal(command: &Command, answer: &str) -> Output {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line.join(" "), "/dev/null"]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    let mut child = terminal
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut typing = child.stdin.take().unwrap();
    typing.write_all(answer.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Runs a command in a session of its own, where there is no terminal to ask at.
fn no_terminal(command: &Command) -> Output {
    let mut alone = Command::new("setsid");
    alone.arg("-w").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => alone.env(name, value),
            None => alone.env_remove(name),
        };
    }
    alone.stdin(Stdio::null()).output().unwrap()
}
