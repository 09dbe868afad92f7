//! Commands and options that go to another folder.

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::state::Folders;
use crate::command_tables::Runner;
use crate::flow::Flow;
use crate::name_lists::FOLDER_OPTIONS;
use crate::paths::normal;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `cd`, `pushd`, `popd`.
    pub(super) fn enter(&mut self, args: &[Arg<'t>]) {
        let word = args.iter().skip(1).find(|a| !is_option(&a.text)).map(|a| a.text.to_string());
        let pops = args.first().is_some_and(|a| a.text == "popd" || a.text == "pushd");
        let back = match word.as_deref() {
            Some(word) => word == "-" || pops && word.starts_with(['+', '-']),
            None => pops,
        };
        let before = self.shared.folders.leave();
        if back {
            // Where one came from: any folder there has been, or what `OLDPWD` says.
            let mut seen = self.shared.folders.seen().without_real_folder();
            if let Some((old, _)) = self.lookup("OLDPWD") {
                seen.add(self.shared.workspace.local(&normal(&old, None)));
            }
            self.shared.folders.set(seen);
            self.shared.folders.set_failed(Some(before));
            return;
        }
        let target = match word {
            Some(word) => word,
            None => self.lookup("HOME").map_or_else(|| "~".to_owned(), |(home, _)| home),
        };
        let mut paths = vec![target.clone()];
        if !target.starts_with(['/', '~', '.'])
            && let Some((roots, _)) = self.lookup("CDPATH")
        {
            paths.extend(roots.split(':').map(|root| format!("{root}/{target}")));
        }
        let inside = before.entered(&paths, &self.shared.workspace);
        // These are always there.
        let sure = matches!(target.as_str(), "/" | "/tmp" | "." | "..");
        self.shared.folders.enter(inside, before, &target, !sure);
    }

    /// The folder in which the next command runs, by its full name, if it can only be one.
    pub(super) fn current_folder(&self) -> Option<String> {
        let start = self.start_folder().filter(|_| self.runs_here())?;
        let current = self.shared.folders.current();
        if current.only_start() && !current.is_unknown() {
            return Some(start);
        }
        let named = current.only_named()?;
        if named.starts_with(['/', '~']) {
            return Some(named.to_owned());
        }
        // Names in a project are seen from its root.
        let is_root = self.shared.ctx.project.is_none_or(|project| project == start);
        is_root.then(|| normal(&format!("{start}/{named}"), None).into_owned())
    }

    /// Where `OLDPWD` leads behind the first `cd`.
    pub(super) fn left_folder(&self) -> Option<String> {
        let folders = &self.shared.folders;
        let is_first = folders.seen().only_start() && !folders.current().only_start();
        self.start_folder().filter(|_| is_first && self.runs_here())
    }

    /// Whether the command runs on this machine: the folders of another one have other names.
    fn runs_here(&self) -> bool {
        !self.shared.rights.elsewhere && !self.shared.rights.remote
    }

    /// `env -C /`, `git -C /`, `sudo --chdir=/`: there as well as here; returns where it was.
    pub(super) fn elsewhere_by_option(&mut self, inv: &Invocation<'_, 't>) -> Option<Folders> {
        let (_, value) = inv.values.iter().find(|(n, _)| FOLDER_OPTIONS.contains(n))?;
        let before = self.shared.folders.current().clone();
        let mut inside = before.clone();
        for place in before.each() {
            inside.add(self.shared.workspace.local(&normal(value.text, place)));
        }
        self.shared.folders.set(inside);
        Some(before)
    }
}

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `sudo -i`: the command runs in the home folder of the user that it runs as.
    pub(super) fn at_home(
        &mut self,
        runner: &Runner,
        inv: &Invocation<'_, 't>,
        assess: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        if !runner.login.iter().any(|option| inv.has(option)) {
            return assess(self);
        }
        let user = inv.values.iter().find(|(name, _)| matches!(*name, "-u" | "--user"));
        let before = self.in_folder(match user.map(|(_, value)| value.text) {
            None | Some("root") => "/root".to_owned(),
            Some(user) => format!("/home/{user}"),
        });
        let flow = assess(self);
        self.shared.folders.set(before);
        flow
    }

    /// The next commands run in this folder as well as here; returns the folders before.
    pub(super) fn in_folder(&mut self, folder: String) -> Folders {
        let before = self.shared.folders.current().clone();
        let mut inside = before.entered(&[folder], &self.shared.workspace);
        inside.join(before);
        self.shared.folders.replace(inside.without_real_folder())
    }
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && !text.ends_with(|c: char| c.is_ascii_digit())
}
