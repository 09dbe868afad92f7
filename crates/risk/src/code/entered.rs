//! The folders that code enters: `os.chdir`, and `cwd` of a program that it starts. Relative paths
//! are seen from there as well as from where the code began.

use crate::code::reader::Reader;
use crate::code::value::{HOLE, Value};
use crate::context::Context;
use crate::limit::Limit;
use crate::paths::normal;

/// Most folders that are followed.
const FOLDERS: Limit = Limit::new("folders that code enters", 12);

/// The names of the argument that says where a program starts.
const START_FOLDER: [&str; 3] = ["cwd", "chdir", "current_dir"];

impl<'a> Reader<'a, '_> {
    /// The code enters a folder. One that is only known when it runs is as little known as a path.
    pub(super) fn enter(&mut self, folder: Option<&Value<'a>>) {
        let choices = folder.map_or(&[][..], Value::choices);
        let paths: Vec<String> = choices
            .iter()
            .filter_map(|choice| choice.text().filter(|text| !text.contains(HOLE)))
            .map(|text| text.replace('\\', "/"))
            .collect();
        for path in paths {
            let before = self.ctx.folders.iter().chain(&self.entered).map(|folder| &**folder);
            let from: Vec<Option<&str>> = std::iter::once(None).chain(before.map(Some)).collect();
            let found: Vec<String> =
                from.into_iter().map(|from| normal(&path, from).into_owned()).collect();
            for folder in found {
                if !self.entered.contains(&folder) {
                    if !self.within(FOLDERS, self.entered.len() + 1) {
                        return;
                    }
                    self.entered.push(folder);
                }
            }
        }
    }

    /// The folder in which a program is started, if an argument names it.
    pub(super) fn start_folder<'v>(args: &'v [Value<'a>]) -> Option<&'v Value<'a>> {
        let options = args.iter().flat_map(Value::items);
        let named = |value: &&Value<'a>| START_FOLDER.contains(&value.key);
        args.iter().chain(options).find(named)
    }

    /// The context of a text inside this code, for a reader of it.
    pub(super) fn with_context<R>(&self, read: impl FnOnce(&Context<'_>) -> R) -> R {
        if self.entered.is_empty() {
            return read(self.ctx);
        }
        let folders = [self.ctx.folders, &self.entered].concat();
        read(&Context { folders: &folders, ..*self.ctx })
    }
}
