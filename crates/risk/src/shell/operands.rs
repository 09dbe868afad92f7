//! What the options and operands of a described program do to paths, hosts and texts.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::transfers::names_only_this_machine;
use crate::command_tables::{ArgumentUse, Spec};
use crate::effect::Effect;
use crate::flow::{Flow, Taint};
use crate::name_lists::{OUTPUT_OPTIONS, REROUTING_OPTIONS};
use crate::structural_findings;
use countersign_shell::UNKNOWN;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// What options and operands do to paths and hosts.
    pub(super) fn touches(
        &mut self,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
    ) -> Taint {
        let mut taint = self.option_touches(spec, inv, stdin);
        self.undescribed_outputs(&spec.values, spec.effects.contains(&Effect::Write), inv);
        let recursive = inv.has_any(&spec.recursive);
        let operands = &spec.operands;
        let lead: &[ArgumentUse] = if inv.has_any(&spec.first_if) { &[] } else { &operands.lead };
        let count = inv.operands.len();
        let tail_from = count.saturating_sub(operands.tail.len()).max(lead.len().min(count));
        let flags = (inv.has_any(&spec.in_place), inv.surely_has_any(&spec.only_reads));
        let skip_tail = !operands.tail.is_empty()
            && inv.values.iter().any(|(name, _)| {
                let writes = |t: &ArgumentUse| matches!(t, ArgumentUse::Write | ArgumentUse::Build);
                spec.touches.iter().any(|(n, t)| writes(t) && n == name)
            });
        for (i, index) in inv.operands.iter().enumerate() {
            let Some(arg) = inv.arg(*index) else { continue };
            if let Some((_, touch)) = spec.keys.iter().find(|(k, _)| arg.text.starts_with(k)) {
                let value = arg.text.split_once('=').map_or("", |(_, v)| v).to_owned();
                let value = Arg { text: Cow::Owned(value), ..arg.clone() };
                taint = taint.and(self.touch(*touch, &value, recursive));
                continue;
            }
            let touch = if let Some(touch) = lead.get(i) {
                *touch
            } else if i >= tail_from && !skip_tail && count > 1 {
                operands.tail.get(i - tail_from).copied().unwrap_or(operands.rest)
            } else {
                operands.rest
            };
            let touch = under_flags(touch, flags);
            if matches!(touch, ArgumentUse::Shell | ArgumentUse::Sql) {
                taint = taint.and(self.value_touch(touch, arg, stdin, false));
            } else if touch != ArgumentUse::Skip {
                taint = taint.and(self.touch(touch, arg, recursive));
            }
        }
        if let [touch @ (ArgumentUse::Write | ArgumentUse::Build)] = &*operands.tail
            && !skip_tail
        {
            self.touch_without_last(*touch, inv);
        }
        taint
    }

    /// `cp a b $unset`: a last word that is nothing makes the one before it the target.
    fn touch_without_last(&mut self, touch: ArgumentUse, inv: &Invocation<'_, 't>) {
        let [_, .., before, last] = &*inv.operands else { return };
        let may_vanish =
            |arg: &Arg<'t>| !arg.text.is_empty() && arg.text.chars().all(|c| c == UNKNOWN);
        if inv.arg(*last).is_some_and(may_vanish)
            && let Some(before) = inv.arg(*before)
        {
            self.touch(touch, before, false);
        }
    }

    /// Options that write a file in most programs, in a program whose description lacks them.
    pub(super) fn undescribed_outputs(
        &mut self,
        described: &[&str],
        writes: bool,
        inv: &Invocation<'_, 't>,
    ) {
        for index in &inv.options {
            let Some(option) = inv.arg(*index) else { continue };
            let (name, value) = match option.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option.text.as_ref(), None),
            };
            // Shortened ones count as well.
            let is_start = |option: &&str| name.len() > 4 && option.starts_with(name);
            let usual = OUTPUT_OPTIONS.contains(&name) || OUTPUT_OPTIONS.iter().any(is_start);
            let usual = usual || writes && name == "-o";
            if !usual || described.contains(&name) {
                continue;
            }
            let next = inv.args.get(usize::from(*index) + 1).filter(|_| value.is_none());
            let next = next.filter(|next| !next.text.starts_with('-')).cloned();
            let given =
                value.map(|value| Arg { text: Cow::Owned(value.to_owned()), ..option.clone() });
            if let Some(file) = given.or(next) {
                self.touch(ArgumentUse::Write, &file, false);
            }
        }
    }

    /// The same for the values of options.
    fn option_touches(
        &mut self,
        spec: &'static Spec,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
    ) -> Taint {
        let mut taint = Taint::default();
        if spec.fetches && inv.has_one(REROUTING_OPTIONS) {
            // The address does not say which host it is.
            self.shared.out.trace.reaches_unknown_host = true;
        }
        for (name, value) in &inv.values {
            let touch = match spec.touches.iter().find(|(n, _)| n == name) {
                Some((_, touch)) => touch,
                // The name of an option that takes no value in every program of the list: what
                // stands behind it may be the file.
                None if spec.inert && spec.operands.rest == ArgumentUse::Read => {
                    &ArgumentUse::Named
                }
                None => continue,
            };
            let Some(word) = inv.args.get(value.word) else { continue };
            let arg = Arg { text: Cow::Owned(value.text.to_owned()), ..word.clone() };
            let sends =
                matches!(touch, ArgumentUse::Upload | ArgumentUse::UploadFile | ArgumentUse::Sent);
            let local = sends && names_only_this_machine(spec, inv);
            taint = taint.and(self.value_touch(*touch, &arg, stdin, local));
        }
        taint
    }

    /// Like `touch`, for values that may hold text to run or to send; `local` if only this machine
    /// gets it.
    fn value_touch(
        &mut self,
        touch: ArgumentUse,
        arg: &Arg<'t>,
        stdin: &Flow,
        local: bool,
    ) -> Taint {
        match touch {
            ArgumentUse::Upload if local => self.on_local_upload(arg),
            ArgumentUse::UploadFile if local => self.touch(ArgumentUse::Read, arg, false),
            ArgumentUse::Sent if local => Taint::default(),
            ArgumentUse::Shell => {
                self.shell_text(arg, stdin);
                Taint::default()
            }
            ArgumentUse::Bang => {
                if let Some(text) = arg.text.trim_start_matches(':').strip_prefix('!') {
                    let text = text.replace(UNKNOWN, "$_");
                    self.inside(&text, arg.span, &Flow::none());
                }
                Taint::default()
            }
            ArgumentUse::Sql => {
                self.sql_text(&arg.text, arg.span);
                Taint::default()
            }
            ArgumentUse::Upload => {
                let from_stdin = stdin.taint.has(Taint::SECRET) && arg.text.ends_with('-');
                if from_stdin || arg.taint.has(Taint::SECRET) {
                    self.shared.out.effect(Effect::NetOut);
                    self.shared.report(&structural_findings::EXFILTRATION, Some(arg.span));
                }
                self.touch(touch, arg, false)
            }
            ArgumentUse::Run => {
                self.shared.out.effect(Effect::Exec);
                if let Some(content) = self.known_file(&arg.text) {
                    self.run_written(content, arg, stdin);
                } else {
                    self.shared.report(&structural_findings::UNSEEN_CODE, Some(arg.span));
                }
                Taint::default()
            }
            _ => self.touch(touch, arg, false),
        }
    }
}

/// What happens to an operand if flags say that files are changed in place, or only read.
fn under_flags(touch: ArgumentUse, (in_place, only_reads): (bool, bool)) -> ArgumentUse {
    match touch {
        ArgumentUse::Read if in_place => ArgumentUse::Write,
        ArgumentUse::Skip => ArgumentUse::Skip,
        _ if only_reads => ArgumentUse::Read,
        _ => touch,
    }
}
