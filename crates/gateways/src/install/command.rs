//! The command in an agent's files: how it is written for a shell and recognized again.

use std::path::Path;

/// How long an agent is told to wait for a hook that asks people, in seconds: one day.
pub const GATE_TIMEOUT: u32 = 86_400;
/// How long the hook itself waits at most: it must answer before the agent's time limit.
pub const MAX_PATIENCE: u32 = GATE_TIMEOUT - 300;
/// How long an agent is told to wait for a hook that asks no one, in seconds.
pub const NOTIFY_TIMEOUT: u32 = 30;

/// The shell by its full path, because an agent may run hooks with another shell.
const SHELL: &str = "/bin/sh";
/// The start of the script, up to the agent's name.
const ASKS: &str = "a=$(\"$0\" hook ";
/// Printed if the program is missing, was killed or did not answer.
const NO_ANSWER: &str = "Countersign gave no answer, so this call must not run.";

/// The command that is written into an agent's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The absolute path of `countersign`.
    pub program: String,
    /// After how many seconds the hook answers that no person has decided yet.
    pub patience: u32,
    /// The absolute path of the file with the daemon's public key. Written into the command, so
    /// that no variable of the agent can choose another file.
    pub daemon_key: Option<String>,
}

impl HookCommand {
    /// The command before a call. It passes only a JSON object from a program that exited with 0.
    /// Everything else (a missing or empty program, a crash, half an answer, other text, none)
    /// exits with 2 and a message on standard error: every agent treats that as a denial, and most
    /// agents run the call in all other cases.
    pub fn gate(&self, agent: &str) -> String {
        let key = if self.daemon_key.is_some() { " --daemon-key \"$1\"" } else { "" };
        let script = format!(
            "{ASKS}{agent} --patience {}{key}) && case $a in {{*}}) printf %s \"$a\" && exit;; esac; \
             echo \"{NO_ANSWER}\" >&2; exit 2",
            self.patience
        );
        let mut command = format!("{SHELL} -c {} {}", quoted(&script), quoted(&self.program));
        if let Some(file) = &self.daemon_key {
            command.push(' ');
            command.push_str(&quoted(file));
        }
        command
    }

    /// The command after a call and for a message of a person: its answer decides nothing.
    pub fn notify(&self, agent: &str) -> String {
        format!("{} hook {agent}", quoted(&self.program))
    }
}

/// The program in a command that we wrote for this agent; `None` for every other command.
pub fn program_of(command: &str, agent: &str) -> Option<String> {
    let words = split(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = match words.as_slice() {
        [SHELL, "-c", script, program] | [SHELL, "-c", script, program, _] => {
            let rest = script.strip_prefix(ASKS)?.strip_prefix(agent)?;
            rest.starts_with(' ').then_some(*program)?
        }
        [program, "hook", named] if *named == agent => program,
        [program, "hook", named, "--patience", seconds]
            if *named == agent && seconds.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            program
        }
        _ => return None,
    };
    let name = Path::new(program).file_name()?.to_str()?;
    name.starts_with("countersign").then(|| program.to_owned())
}

/// A word quoted for every POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// The words of a command without shell syntax other than quotes. Other commands are not ours.
fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let open = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' | '$' | '`' if letter == '"' => return None,
                        inner => open.push(inner),
                    }
                }
            }
            '\\' | '$' | '`' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | '\n' | '*' | '?' => {
                return None;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn command(program: &str) -> HookCommand {
        HookCommand { program: program.to_owned(), patience: 60, daemon_key: None }
    }

    #[test]
    fn only_our_own_commands_are_recognized() {
        for program in
            ["/usr/bin/countersign", "/home/a b/it's/countersign", "/x/$HOME/countersign"]
        {
            let written = command(program);
            let pinned = Some("/home/a b/it's/daemon.pub".to_owned());
            let pinned = HookCommand { daemon_key: pinned, ..written.clone() };
            let gates = [written.gate("claude"), pinned.gate("claude")];
            for command in gates.into_iter().chain([written.notify("claude")]) {
                assert_eq!(program_of(&command, "claude").as_deref(), Some(program), "{command}");
                assert_eq!(program_of(&command, "codex"), None, "{command}");
            }
        }
        let by_hand = "countersign hook claude --patience 30";
        assert_eq!(program_of(by_hand, "claude").as_deref(), Some("countersign"));
        for foreign in [
            "my-wrapper countersign hook claude",
            "countersign hook claude; rm -rf x",
            "countersign hook claude && true",
            "/usr/bin/other hook claude",
            "countersign hook claude --patience $N",
            "countersign hook claudette",
            "echo 'countersign hook claude",
            "",
        ] {
            assert_eq!(program_of(foreign, "claude"), None, "{foreign}");
        }
    }

    /// Runs a command as agents do, with input on its standard input.
    fn run(shell: &str, command: &str) -> (Option<i32>, String, String) {
        let mut child = Command::new(shell)
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(b"{}");
        let done = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    #[test]
    fn without_an_answer_the_command_exits_with_two_and_a_message() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's a countersign");
        let parts = command(program.to_str().unwrap());
        let command = parts.gate("codex");
        let write = |script: &str| {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        };
        for shell in ["sh", "bash"] {
            let _ = std::fs::remove_file(&program);
            let (code, out, err) = run(shell, &command);
            assert_eq!((code, out.as_str()), (Some(2), ""), "missing");
            assert!(err.contains("must not run"), "{err}");
            for ending in [
                "exit 1",
                "exit 2",
                "kill -9 $$",
                "exit 127",
                "printf '{\"half'; kill -9 $$",
                "printf '{}'; exit 1",
                "exit 0",
                "echo all is well",
            ] {
                write(ending);
                let (code, out, err) = run(shell, &command);
                assert_eq!((code, out.as_str()), (Some(2), ""), "{ending}");
                assert!(err.contains("must not run"), "{err}");
            }
            std::fs::write(&program, "").unwrap();
            assert_eq!(run(shell, &command).0, Some(2), "an empty program");
            write("echo \"{$@}\"");
            let (code, out, err) = run(shell, &command);
            assert_eq!((code, err.as_str()), (Some(0), ""));
            assert_eq!(out, "{hook codex --patience 60}");
            let key = Some("/it's \"a\" $key".to_owned());
            let pinned = HookCommand { daemon_key: key, ..parts.clone() }.gate("codex");
            write("for word; do printf '{%s}' \"$word\"; done");
            let words = "{hook}{codex}{--patience}{60}{--daemon-key}{/it's \"a\" $key}";
            assert_eq!(run(shell, &pinned).1, words);
            let closed = format!("({command}) >&-");
            assert_eq!(run(shell, &closed).0, Some(2), "an answer that cannot be written");
        }
    }
}
