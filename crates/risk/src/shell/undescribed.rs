//! Programs that no description is known of: named at run time, by a pattern, or not listed.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::program::{is_odd_place, is_standard_place, resolve};
use super::state::Guess;
use crate::command_tables::{self, EVERY_PROGRAM, Touch, UNDESCRIBED, UNDESCRIBED_READ_ONLY};
use crate::effect::Effect;
use crate::finding::{Doubt, Span};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::paths::{Act, class_of};
use crate::structural_findings;
use countersign_text::glob;
use countersign_types::tier::Tier;

/// How many programs one pattern is tried as.
const GUESSED: Limit = Limit::new("programs that a pattern fits", 12);

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// The program's name is only known at run time.
    pub(super) fn dynamic(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return Flow::none() };
        if first.text.is_empty() {
            // An empty word runs nothing; what follows is not run either.
            return Flow::none();
        }
        self.shared.out.doubt(Doubt::DynamicProgram);
        self.shared.out.effect(Effect::Exec);
        let sign = if first.taint.has(Taint::NET) {
            self.remote_code_rule(first.taint)
        } else if first.taint.has(Taint::DECODED) {
            &structural_findings::DECODED_CODE
        } else {
            &structural_findings::DYNAMIC
        };
        self.shared.report(sign, Some(span));
        let inv = Invocation::new(args, None);
        let recursive =
            inv.has_one(&["-r", "-R", "--recursive"]) && inv.has_one(&["-f", "--force"]);
        if recursive {
            self.shared.report(&structural_findings::DYNAMIC_DELETE, Some(span));
            for index in &inv.operands {
                if let Some(arg) = inv.arg(*index) {
                    self.touch(Touch::Delete, arg, true);
                }
            }
        }
        self.rules(EVERY_PROGRAM, &inv, stdin.present, span);
        Flow::unknown(stdin.taint)
    }

    /// `/bin/r?`: every program it could be counts.
    pub(super) fn globbed(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        self.shared.report(&structural_findings::DYNAMIC, Some(span));
        self.shared.out.doubt(Doubt::DynamicProgram);
        let Some(first) = args.first() else { return Flow::none() };
        match self.shared.budget.begin_guess() {
            Guess::Try => {}
            Guess::Nested => return Flow::unknown(stdin.taint),
            Guess::TooMany => {
                self.shared.report(&structural_findings::TOO_MANY, Some(span));
                return Flow::unknown(stdin.taint);
            }
        }
        let pattern = first.text.rsplit('/').next().unwrap_or_default().replace(['[', ']'], "");
        let mut names: Vec<&str> =
            command_tables::names().filter(|n| glob::matches(&pattern, n)).collect();
        GUESSED.cut(&mut names, self.shared.out, Some(span));
        for name in names {
            let mut guess = args.to_vec();
            if let Some(slot) = guess.first_mut() {
                slot.text = Cow::Borrowed(name);
                slot.glob = false;
            }
            if let Some(known) = resolve(name) {
                self.known(known, &guess, stdin, span);
            }
        }
        self.shared.budget.end_guess();
        Flow::unknown(stdin.taint)
    }

    /// A program without a description.
    pub(super) fn unlisted(&mut self, args: &[Arg<'t>], stdin: &Flow, span: Span) -> Flow {
        let Some(first) = args.first() else { return Flow::none() };
        let inv = Invocation::new(args, None);
        self.shared.out.effect(Effect::Exec);
        self.shared.out.doubt(Doubt::UnknownProgram);
        self.shared.out.impact.programs.add(&first.text);
        let place = self.shared.workspace.local(&first.text);
        let odd = first.has_slash() && is_odd_place(&place);
        let looks = UNDESCRIBED_READ_ONLY.iter().any(|rule| inv.fits(rule, stdin.present, true));
        let away = place.starts_with('/')
            && !is_standard_place(&place)
            && matches!(class_of(&place, None).id, "elsewhere" | "shared-data");
        let sign = match (self.shared.rights.root && !looks, odd) {
            (true, _) => &structural_findings::UNKNOWN_AS_ROOT,
            (_, true) => &structural_findings::ODD_PLACE,
            _ if away => &structural_findings::PROGRAM_AWAY,
            _ => &structural_findings::UNKNOWN_PROGRAM,
        };
        if sign.tier >= Tier::Medium && first.has_slash() {
            self.first_use(sign, &first.text, first.span);
        } else {
            self.shared.report(sign, Some(first.span));
        }
        self.rules(UNDESCRIBED, &inv, stdin.present, span);
        self.rules(EVERY_PROGRAM, &inv, stdin.present, span);
        self.undescribed_runner(&inv, stdin, span);
        for index in &inv.operands {
            if let Some(arg) = inv.arg(*index) {
                let url = arg.text.contains("://");
                if !url && self.shared.class_for(Act::Read, &arg.text).read >= Tier::High {
                    self.touch(Touch::Read, arg, false);
                }
            }
        }
        Flow::unknown(stdin.taint)
    }
}
