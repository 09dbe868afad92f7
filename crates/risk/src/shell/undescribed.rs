//! Programs that no description is known of: named at run time, by a pattern, or not listed.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::help::{only_looks, only_prints_usage};
use super::invocation::Invocation;
use super::program::{is_example_program, is_odd_place, is_standard_place, resolve};
use super::state::{EvalState, Guess};
use crate::command_tables::{
    self, ArgumentUse, EVERY_PROGRAM, Spec, UNDESCRIBED, UNDESCRIBED_READ_ONLY,
};
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Span};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::name_lists::{EXAMPLE_PATTERNS, SKILL_FOLDERS};
use crate::paths::windows_path::has_drive;
use crate::paths::{PathAction, class_of, last_part};
use crate::question::program_subject;
use crate::structural_findings::{self, StructuralRule};
use countersign_shell::UNKNOWN;
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
                    self.touch(ArgumentUse::Delete, arg, true);
                }
            }
        }
        self.rules(&EVERY_PROGRAM, &inv, stdin.present, span);
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
        let mut names: Vec<String> =
            command_tables::names().filter(|n| glob::matches(&pattern, n)).collect();
        GUESSED.cut(&mut names, self.shared.out, Some(span));
        for name in names {
            let mut guess = args.to_vec();
            if let Some(slot) = guess.first_mut() {
                slot.text = Cow::Owned(name.clone());
                slot.glob = false;
            }
            if let Some(known) = resolve(&name) {
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
        self.shared.out.commands.add(inv.command_words());
        self.shared.out.effect(Effect::Exec);
        self.shared.out.doubt(Doubt::UnknownProgram);
        self.shared.out.impact.programs.add(&first.text);
        self.shared.check_program(first, &inv, stdin.present);
        self.rules(&UNDESCRIBED, &inv, stdin.present, span);
        self.rules(&EVERY_PROGRAM, &inv, stdin.present, span);
        self.undescribed_runner(&inv, stdin, span);
        self.undescribed_outputs(&[], true, &inv);
        let looks = UNDESCRIBED_READ_ONLY.iter().any(|rule| inv.fits(rule, stdin.present, true));
        let writes = resolve(&first.text).is_some_and(|(spec, ..)| spec.base > Tier::Safe);
        if let [_, .., last] = &*inv.operands
            && writes
            && !looks
            && let Some(last) = inv.arg(*last)
            && self.shared.class_for(PathAction::Write, &last.text).write >= Tier::High
        {
            // Most converters write the file that they are given last.
            self.touch(ArgumentUse::Write, last, false);
        }
        for index in &inv.operands {
            if let Some(arg) = inv.arg(*index) {
                let url = arg.text.contains("://");
                if !url && self.shared.class_for(PathAction::Read, &arg.text).read >= Tier::High {
                    self.touch(ArgumentUse::Read, arg, false);
                }
            }
        }
        Flow::unknown(stdin.taint)
    }
}

impl EvalState<'_, '_> {
    /// What running an undescribed program asks. The project's own programs do not ask.
    fn check_program(&mut self, first: &Arg<'_>, inv: &Invocation<'_, '_>, stdin: bool) {
        let place = self.workspace.local(&first.text);
        let odd = first.has_slash() && is_odd_place(&place);
        let looks = UNDESCRIBED_READ_ONLY.iter().any(|rule| inv.fits(rule, stdin, true));
        let away = place.starts_with('/')
            && !is_standard_place(&place)
            && matches!(class_of(&place, None).id, "elsewhere" | "shared-data");
        let named = resolve(&first.text).map(|(spec, ..)| spec);
        let sign = match (self.rights.root && !looks, odd, named) {
            (true, ..) => &structural_findings::UNKNOWN_AS_ROOT,
            (_, true, _) => &structural_findings::ODD_PLACE,
            (.., Some(spec)) => return self.run_named(spec, first),
            _ if away => &structural_findings::PROGRAM_AWAY,
            _ if self.is_project_program(first) => &structural_findings::PROJECT_PROGRAM,
            _ if self.is_by_name(first) && names_no_program(&first.text) => {
                &structural_findings::EXAMPLE_PROGRAM
            }
            _ if self.is_by_name(first) && only_prints_usage(inv) => {
                &structural_findings::PROGRAM_USAGE
            }
            // What was just installed or downloaded is not what a person knows by this name.
            _ if self.is_by_name(first)
                && only_looks(inv)
                && !self.out.effects.has(Effect::NetIn) =>
            {
                &structural_findings::PROGRAM_LOOK
            }
            _ => &structural_findings::UNKNOWN_PROGRAM,
        };
        if sign.tier >= Tier::Medium {
            self.first_run(sign, first);
        } else {
            self.report(sign, Some(first.span));
        }
    }

    /// A program of which only the name and the kind are known.
    fn run_named(&mut self, spec: &Spec, first: &Arg<'_>) {
        let place = self.workspace.local(&first.text);
        if first.has_slash() && !is_standard_place(&place) {
            self.report(&structural_findings::PROGRAM_BY_PATH, Some(first.span));
        }
        spec.effects.iter().for_each(|effect| self.out.effect(*effect));
        if spec.base > Tier::Safe {
            let finding = Finding::pattern(spec.ordinary, spec.base, spec.message);
            self.out.add(finding.at(first.span));
        }
    }

    /// Whether a program is the project's own: a file in the workspace or its dependency folders,
    /// a program that a package manager finds there, or one of a container. A word that names no
    /// program runs nothing.
    fn is_project_program(&self, first: &Arg<'_>) -> bool {
        if self.rights.elsewhere || self.rights.project || !is_program_name(&first.text) {
            return true;
        }
        let inside = |name: &String| {
            let outside = name.starts_with(['/', '~']) || name.starts_with("..");
            !outside && !has_drive(name) && !name.contains(UNKNOWN)
        };
        let names = || self.names_of(&first.text);
        let is_skills = || !self.rights.root && names().iter().all(|name| is_skill(name));
        first.has_slash() && (names().iter().all(inside) || is_skills())
    }

    /// Whether a program is found by its name, through `PATH` as it was before the call or in a
    /// folder of the system, and has no more rights than its caller.
    fn is_by_name(&self, first: &Arg<'_>) -> bool {
        if self.rights.root {
            false
        } else if first.has_slash() {
            is_standard_place(&first.text)
        } else {
            self.is_path_as_before()
        }
    }

    /// Whether the call did not change where the shell looks for programs.
    fn is_path_as_before(&self) -> bool {
        self.variables.get("PATH").is_none() && !self.has_moved_home()
    }

    /// A program that a person should see once: the question is about the program, whatever it is
    /// given and whatever starts it here. A name without a folder is the same program as long as
    /// the call does not change where the shell looks for it.
    fn first_run(&mut self, sign: &StructuralRule, first: &Arg<'_>) {
        let finding = sign.finding().at(first.span);
        let name = if first.has_slash() {
            <[String; 1]>::try_from(self.identities(&first.text)).ok().map(|[name]| name)
        } else {
            self.is_path_as_before().then(|| first.text.to_string())
        };
        match name.filter(|name| !name.contains(UNKNOWN) && self.ctx.session.is_some()) {
            Some(name) if self.rights.remote => self.add_about(finding, &name),
            Some(name) => {
                let subject = program_subject(&name, &format!("{:?}", self.rights));
                self.out.add_about(finding, Some(&subject), &[]);
            }
            None => self.out.add(finding),
        }
    }
}

/// Names that documentation uses where a reader puts a program of their own.
fn names_no_program(word: &str) -> bool {
    let name = last_part(word);
    is_example_program(name) || EXAMPLE_PATTERNS.iter().any(|pattern| glob::matches(pattern, name))
}

/// Whether a path is in a folder of the agents' skills, which people install like programs.
fn is_skill(path: &str) -> bool {
    !path.contains("..") && SKILL_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a word can name a program: `{}`, `10`, `:::`, `/` and `--` do not.
fn is_program_name(word: &str) -> bool {
    if word.contains('/') {
        return !last_part(word).is_empty();
    }
    !word.starts_with('-') && word.contains(char::is_alphabetic)
}
