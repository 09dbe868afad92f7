//! What simple commands write, where that can be known without running them.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::program_output::program_output;
use crate::flow::{self, Flow, Taint};
use crate::paths::last_part;
use countersign_shell::UNKNOWN;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `printf -v NAME FORMAT …` where what it would print is known.
    pub(super) fn print_into(&mut self, args: &[Arg<'t>]) -> bool {
        let [program, option, name, rest @ ..] = args else { return false };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if option.text != "-v" || !name.text.bytes().all(plain) {
            return false;
        }
        let line: Vec<Arg<'t>> = std::iter::once(program).chain(rest).cloned().collect();
        let flow = printf(&Invocation::new(&line, None));
        let Some(text) = flow.text else { return false };
        self.set(&name.text, text.replace("$_", &UNKNOWN.to_string()), flow.taint);
        true
    }

    /// The output of `echo`, `printf`, `cat` and the like, and of the programs whose output the
    /// rules describe.
    pub(super) fn output(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow) -> Option<Flow> {
        let name = last_part(&inv.args.first()?.text);
        match name {
            "echo" => Some(echo(inv)),
            "printf" => Some(printf(inv)),
            "pwd" => self.current_folder().map(|folder| Flow::text(folder + "\n")),
            "tee" => Some(stdin.clone()),
            "cat" if inv.operands.is_empty() && stdin.present => Some(stdin.clone()),
            "cat" => {
                let mut all = Flow::none();
                for index in &inv.operands {
                    let path = &inv.arg(*index)?.text;
                    let flow = match self.shared.processes.take(path) {
                        Some(flow) => flow,
                        None if path == "-" || path == "/dev/stdin" => stdin.clone(),
                        None => self.file_content(path).unwrap_or(Flow::unknown(Taint::FILE)),
                    };
                    all = all.then(flow);
                }
                Some(all)
            }
            "rev" => Some(reshape(stdin, |t| {
                Some(t.lines().map(|l| l.chars().rev().collect::<String>() + "\n").collect())
            })),
            "tr" => Some(reshape(stdin, |t| match (inv.operand(0), inv.operand(1)) {
                (Some(a), Some(b)) => flow::translate(t, a, b),
                (Some(a), None) if inv.has_one(&["-d"]) => {
                    Some(t.chars().filter(|c| !a.contains(*c)).collect())
                }
                _ => None,
            })),
            "sed" => Some(reshape(stdin, |t| substitute(t, inv.operand(0)?))),
            // Where exactly does not matter; that it is this program's file does.
            "which" if inv.operands.len() == 1 => {
                let name = inv.operand(0).filter(|name| !name.contains([UNKNOWN, '/']))?;
                Some(Flow::text(format!("/usr/bin/{name}")))
            }
            "mktemp" => made_temporary(inv),
            _ => program_output(name, inv, stdin),
        }
    }
}

/// The name that `mktemp` prints, up to its random letters.
fn made_temporary(inv: &Invocation<'_, '_>) -> Option<Flow> {
    let folder = inv.values.iter().find(|(name, _)| matches!(*name, "-p" | "--tmpdir"));
    let folder = folder.map_or("/tmp", |(_, value)| value.text);
    let template = inv.operand(0).unwrap_or("tmp.XXXXXXXXXX");
    let path = if template.contains('/') {
        template.to_owned()
    } else {
        format!("{}/{template}", folder.trim_end_matches('/'))
    };
    (!path.contains(UNKNOWN)).then(|| Flow::text(path + "\n"))
}

fn echo(inv: &Invocation<'_, '_>) -> Flow {
    let mut escapes = false;
    let mut words = Vec::new();
    let mut taint = Taint::default();
    let mut flags = true;
    for arg in inv.args.iter().skip(1) {
        let flag = arg.text.strip_prefix('-');
        if flags && flag.is_some_and(|f| !f.is_empty() && f.bytes().all(|b| b"neE".contains(&b))) {
            escapes |= arg.text.contains('e');
            continue;
        }
        flags = false;
        taint = taint.and(arg.taint);
        words.push(arg.text.as_ref());
    }
    let mut text = words.join(" ");
    if text.contains(UNKNOWN) {
        // The known parts can still be read; a variable stands for the rest.
        text = text.replace(UNKNOWN, "$_");
    }
    if escapes {
        text = countersign_shell::posix::decode_escapes(&text, true);
    }
    text.push('\n');
    Flow { present: true, text: Some(text), taint, ..Flow::default() }
}

fn printf(inv: &Invocation<'_, '_>) -> Flow {
    let mut taint = Taint::default();
    let mut words: Vec<Cow<'_, str>> = Vec::new();
    for arg in inv.args.iter().skip(1) {
        taint = taint.and(arg.taint);
        words.push(Cow::Owned(arg.text.replace(UNKNOWN, "$_")));
    }
    if words.first().is_some_and(|w| w == "--") {
        words.remove(0);
    }
    let Some((format, args)) = words.split_first() else { return Flow::unknown(taint) };
    let text = flow::printf(format, args);
    // A format that is not followed, or more text than is kept.
    let taint = if text.is_none() { taint.and(Taint::LOST) } else { taint };
    Flow { present: true, text, taint, ..Flow::default() }
}

fn reshape(stdin: &Flow, change: impl Fn(&str) -> Option<String>) -> Flow {
    let text = stdin.text.as_deref().and_then(change);
    Flow { present: true, text, taint: stdin.taint, ..Flow::default() }
}

/// `s/a/b/g` with plain text.
fn substitute(text: &str, script: &str) -> Option<String> {
    let rest = script.strip_prefix('s')?;
    let close = rest.chars().next()?;
    let mut parts = rest.get(close.len_utf8()..)?.split(close);
    let (from, to, flags) = (parts.next()?, parts.next()?, parts.next()?);
    if from.is_empty()
        || from.contains(['*', '[', '.', '\\', '^', '$', '('])
        || to.contains(['\\', '&'])
    {
        return None;
    }
    Some(if flags.contains('g') { text.replace(from, to) } else { text.replacen(from, to, 1) })
}
