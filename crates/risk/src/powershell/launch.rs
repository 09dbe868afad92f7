//! `powershell.exe` and `pwsh` with their own options: the text, file or input they run.

use super::run::Evaluator;
use super::state::PsState;
use super::value::PsValue;
use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::paths::windows_path;
use crate::shell::{CommandAssessor, CommandWord};
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_text::decode;

/// Options with a value, without their dash.
const VALUES: [&str; 14] = [
    "executionpolicy",
    "windowstyle",
    "version",
    "inputformat",
    "outputformat",
    "psconsolefile",
    "configurationname",
    "configurationfile",
    "settingsfile",
    "workingdirectory",
    "custompipename",
    "encodedarguments",
    "ep",
    "wd",
];
/// Options without a value.
const SWITCHES: [&str; 10] = [
    "noprofile",
    "noninteractive",
    "nologo",
    "noexit",
    "mta",
    "sta",
    "login",
    "interactive",
    "help",
    "noprofileloadtime",
];

/// What one option of the program is.
#[derive(Debug, PartialEq, Eq)]
enum Launch {
    Command,
    Encoded,
    File,
    Value,
    Switch,
    Unknown,
}

fn option(word: &str) -> Option<Launch> {
    let name = word.strip_prefix(['-', '/'])?.trim_start_matches('-').to_ascii_lowercase();
    let name = name.split(':').next().unwrap_or_default();
    Some(match name {
        "" => return None,
        "c" | "commandwithargs" | "cwa" => Launch::Command,
        "e" | "ec" | "encodedcommand" => Launch::Encoded,
        "f" => Launch::File,
        _ if "command".starts_with(name) => Launch::Command,
        _ if name.len() > 1 && "encodedcommand".starts_with(name) => Launch::Encoded,
        _ if "file".starts_with(name) => Launch::File,
        _ if SWITCHES.iter().any(|s| s.starts_with(name)) => Launch::Switch,
        _ if VALUES.iter().any(|s| s.starts_with(name)) => Launch::Value,
        _ => Launch::Unknown,
    })
}

/// What `powershell` with these words runs; none where it would only open a session.
pub fn launched(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Option<Flow> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let rest = words.get(at..).unwrap_or_default();
        match option(&word.text) {
            Some(Launch::Command) => return Some(command(assessor, rest, stdin, span)),
            Some(Launch::Encoded) => return Some(encoded(assessor, rest.first(), span)),
            Some(Launch::File) => return Some(file(assessor, rest, stdin, span)),
            Some(Launch::Value) => at += 1,
            Some(Launch::Switch) => {}
            Some(Launch::Unknown) => {
                assessor.report(&structural_findings::UNKNOWN_POWERSHELL_OPTION, word.span);
            }
            None if word.text == "-" => {
                return Some(command(assessor, std::slice::from_ref(word), stdin, span));
            }
            None => {
                let from = words.get(at - 1..).unwrap_or_default();
                let script = word.text.to_ascii_lowercase().ends_with(".ps1");
                return Some(if script {
                    file(assessor, from, stdin, span)
                } else {
                    command(assessor, from, stdin, span)
                });
            }
        }
    }
    stdin.present.then(|| piped(assessor, stdin, span))
}

fn piped(assessor: &mut CommandAssessor<'_, '_, '_>, stdin: &Flow, span: Span) -> Flow {
    run(assessor, &PsValue::from_flow(stdin.clone()), span)
}

/// The text of a value, run in a PowerShell of its own.
fn run(assessor: &mut CommandAssessor<'_, '_, '_>, value: &PsValue, span: Span) -> Flow {
    let mut state = PsState::default();
    let mut evaluator = Evaluator { assessor, state: &mut state };
    evaluator.run_text(value, span).flow()
}

fn command(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Flow {
    if let [word] = words
        && word.text == "-"
    {
        return piped(assessor, stdin, span);
    }
    let mut text = String::new();
    let mut taint = Taint::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&word.text);
        taint = taint.and(word.taint);
    }
    // Quotes around the whole text belong to the shell that was asked to start this one.
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    let text = inner.filter(|t| !t.contains('"')).unwrap_or(&text).to_owned();
    run(assessor, &PsValue::of(super::value::Kind::Text(text), taint), span)
}

fn encoded(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    word: Option<&CommandWord>,
    span: Span,
) -> Flow {
    assessor.report(&structural_findings::ENCODED_POWERSHELL, span);
    let known = word.filter(|w| !w.text.contains(UNKNOWN));
    let text = known.and_then(|w| decode::base64(&w.text)).and_then(|bytes| decode::utf16(&bytes));
    if let Some(text) = text.filter(|t| !t.contains(UNKNOWN)) {
        run(assessor, &PsValue::text(text), span)
    } else {
        assessor.unseen_code(Taint::DECODED, span);
        Flow::unknown(Taint::default())
    }
}

fn file(
    assessor: &mut CommandAssessor<'_, '_, '_>,
    words: &[CommandWord],
    stdin: &Flow,
    span: Span,
) -> Flow {
    let Some(script) = words.first() else { return Flow::none() };
    if script.text == "-" {
        return piped(assessor, stdin, span);
    }
    let path = windows_path::normalize(&script.text, assessor.context().cwd).into_owned();
    if windows_path::share_host(&script.text).is_some() || path.contains("://") {
        assessor.unseen_code(Taint::NET.and(Taint::NET_OPEN), span);
        return Flow::unknown(Taint::NET);
    }
    let mut state = PsState::default();
    let mut evaluator = Evaluator { assessor, state: &mut state };
    let name = CommandWord { text: path, ..script.clone() };
    let given: Vec<super::cmdlet_call::CmdletArgument> = words
        .iter()
        .skip(1)
        .map(|w| {
            super::cmdlet_call::CmdletArgument::of(
                PsValue::text(w.text.clone()),
                true,
                false,
                w.span,
            )
        })
        .collect();
    evaluator.native(&name, &given, &PsValue::from_flow(stdin.clone()), span).flow()
}
