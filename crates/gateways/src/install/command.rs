//! The command that stands in an agent's files: written for a shell, and known again.

use std::path::Path;

use super::Ours;

/// The shell, by its whole path: an agent may run hooks with any other one.
const SHELL: &str = "/bin/sh";
/// How the script begins, up to the agent's name.
const ASKS: &str = "a=$(\"$0\" hook ";
/// Said where the program gave no answer at all: gone, killed or broken.
const NO_ANSWER: &str = "Countersign gave no answer, so this call must not run.";

impl Ours {
    /// Runs before a call. Only an answer gets through: a JSON object from a program that ended
    /// well. Whatever else comes of it (a missing program, an empty one, a crash, half an answer,
    /// other words, none) ends with 2 and words on standard error: every host takes that for a no,
    /// and most of them take the rest for a yes.
    pub fn before(&self, agent: &str) -> String {
        let script = format!(
            "{ASKS}{agent} --patience {}) && case $a in {{*}}) printf %s \"$a\" && exit;; esac; \
             echo \"{NO_ANSWER}\" >&2; exit 2",
            self.patience
        );
        format!("{SHELL} -c {} {}", quoted(&script), quoted(&self.program))
    }

    /// Runs where nothing hangs on the answer: after a call, and when a person writes.
    pub fn aside(&self, agent: &str) -> String {
        format!("{} hook {agent}", quoted(&self.program))
    }
}

/// The program in a command of ours for this agent; nothing else is taken for ours.
pub fn program_of(command: &str, agent: &str) -> Option<String> {
    let words = split(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = match words.as_slice() {
        [SHELL, "-c", script, program] => {
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

/// A word as every shell reads it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// The words of a command that needs no shell to be read. Anything more is not ours.
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

    fn ours(program: &str) -> Ours {
        Ours { program: program.to_owned(), patience: 60 }
    }

    #[test]
    fn what_we_write_is_known_again_and_nothing_else() {
        for program in
            ["/usr/bin/countersign", "/home/a b/it's/countersign", "/x/$HOME/countersign"]
        {
            let ours = ours(program);
            for command in [ours.before("claude"), ours.aside("claude")] {
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

    /// Runs a command the way hosts do, with something on its standard input.
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
    fn without_an_answer_the_command_ends_with_two_and_says_why() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("it's a countersign");
        let command = ours(program.to_str().unwrap()).before("codex");
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
            let deaf = format!("({command}) >&-");
            assert_eq!(run(shell, &deaf).0, Some(2), "an answer that cannot be said");
        }
    }
}
