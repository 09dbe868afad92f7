//! What touching a path from code costs, by the path classes all readers share.

use std::borrow::Cow;

use crate::code::value::HOLE;
use crate::context::Context;
use crate::paths::workspace::Workspace;
use crate::paths::{PathClass, class_of, normal};
use countersign_shell::UNKNOWN;
use countersign_text::file_url;
use countersign_types::tier::Tier;

/// What it costs to read, write or delete something, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) read: Tier,
    pub(super) write: Tier,
    pub(super) delete: Tier,
    pub(super) note: &'static str,
}

/// The reach of a path.
pub(super) fn sensitive(path: &str, ctx: &Context<'_>) -> Reach {
    let known = file_url::file(path).unwrap_or(Cow::Borrowed(path));
    let known = known.replace(HOLE, UNKNOWN.encode_utf8(&mut [0; 4])).replace('\\', "/");
    let workspace = Workspace::of(ctx);
    let mut reach = reach_of(class_of(&workspace.local(&known), None));
    if !known.starts_with(['/', '~']) {
        for folder in ctx.folders {
            let there = normal(&known, Some(folder));
            reach = reach.worst(reach_of(class_of(&workspace.local(&there), None)));
        }
    }
    reach
}

impl Reach {
    fn worst(self, other: Reach) -> Reach {
        let note = if other.note.is_empty() { self.note } else { other.note };
        Reach {
            read: self.read.max(other.read),
            write: self.write.max(other.write),
            delete: self.delete.max(other.delete),
            note,
        }
    }
}

fn reach_of(class: &PathClass) -> Reach {
    let whole = matches!(class.id, "root" | "home-whole" | "system-whole");
    let system = matches!(class.id, "system" | "system-whole" | "access-control" | "logs");
    let grave = class.write >= Tier::High || class.read >= Tier::Medium || whole;
    Reach {
        // Reading the system's own files is no finding, but counts in combinations.
        read: if system { class.read.max(Tier::Low) } else { class.read },
        write: class.write,
        delete: if whole { class.delete_tree } else { class.delete.max(Tier::Medium) },
        note: if grave { class.name } else { "" },
    }
}
