//! Files made from other files: `cp`, `mv`, `ln`, `tee`, `dd`.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use crate::command_tables::ArgumentUse;
use crate::flow::Flow;
use crate::name_lists::{
    ARCHIVING_OPTIONS, ARCHIVING_PROGRAMS, BIND_MOUNT_OPTIONS, FILE_COPYING_PROGRAMS,
    LINKING_PROGRAMS,
};
use crate::paths::last_part;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Remembers under its new name what a file holds or where a link leads.
    pub(super) fn copied(&mut self, inv: &Invocation<'_, 't>, stdin: &Flow) {
        let Some(name) = inv.args.first().map(|a| last_part(&a.text)) else { return };
        match name {
            "mount" if inv.has_one(BIND_MOUNT_OPTIONS) => self.copy(inv, false),
            "tee" => {
                let append = inv.has_one(&["-a", "--append"]);
                for path in operands(inv) {
                    self.written(&path, append, stdin);
                }
            }
            "dd" => {
                let value = |key: &str| {
                    inv.args.iter().find_map(|a| a.text.strip_prefix(key)).map(str::to_owned)
                };
                let Some(to) = value("of=") else { return };
                let flow = match value("if=") {
                    Some(from) => self.file_content(&from),
                    None => Some(stdin.clone()),
                };
                if let Some(flow) = flow {
                    self.written(&to, false, &flow);
                }
            }
            _ if FILE_COPYING_PROGRAMS.contains(&name) => self.copy(inv, true),
            _ if LINKING_PROGRAMS.contains(&name) => self.copy(inv, false),
            _ => {}
        }
    }

    /// `tar cf FILE …` writes its archive there.
    pub(super) fn archived(&mut self, inv: &Invocation<'_, 't>) {
        let Some([program, first, rest @ ..]) = inv.args.get(..) else { return };
        if !ARCHIVING_PROGRAMS.contains(&last_part(&program.text)) {
            return;
        }
        let makes = |word: &str| word.contains(['c', 'r', 'u', 'A']);
        let bundle =
            !first.text.starts_with('-') && first.text.bytes().all(|b| b.is_ascii_alphabetic());
        if bundle {
            // The archive is the next word: the letters take their values in order.
            if makes(&first.text)
                && first.text.contains('f')
                && let Some(archive) = rest.first()
            {
                self.touch(ArgumentUse::Write, archive, false);
            }
            return;
        }
        if !inv.has_one(ARCHIVING_OPTIONS) {
            return;
        }
        let files: Vec<String> = inv
            .values
            .iter()
            .filter(|(name, _)| matches!(*name, "-f" | "--file"))
            .map(|(_, value)| value.text.to_owned())
            .collect();
        for file in files {
            self.touch_text(ArgumentUse::Write, &file, program.span);
        }
    }

    fn copy(&mut self, inv: &Invocation<'_, 't>, copy: bool) {
        let mut paths = operands(inv);
        let folder = inv.values.iter().find(|(n, _)| matches!(*n, "-t" | "--target-directory"));
        let to = match folder {
            Some((_, folder)) => folder.text.to_owned(),
            // `ln -s TARGET` makes a link of the same name here.
            None if paths.len() == 1 && !copy => ".".to_owned(),
            None => match paths.pop() {
                Some(to) => to,
                None => return,
            },
        };
        for from in paths {
            let last = from.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            // Whether `to` is a folder is not known: it may get the name or hold it.
            let within = format!("{}/{last}", to.trim_end_matches('/'));
            for name in [to.as_str(), within.as_str()] {
                if let Some(flow) = self.file_content(&from) {
                    self.written(name, false, &flow);
                }
                self.shared.link(name, &from, copy);
            }
        }
    }
}

fn operands(inv: &Invocation<'_, '_>) -> Vec<String> {
    let paths = inv.operands.iter().filter_map(|i| inv.arg(*i));
    paths.map(|a| a.text.to_string()).collect()
}
