//! The saved plan of Terraform and its fork `tofu`. It is the tool's own dry run: applying it does
//! exactly this or fails. It is read without the tool, which would start the folder's providers.

use std::path::Path;

use countersign_risk::facts::{PlanFact, UnknownReason};

use super::parts::{PlanParts, counted};
use super::protobuf::{FieldValue, fields};
use super::zip;
use crate::files;
use crate::local_look::LocalLook;

/// The largest saved plan, and the largest list of changes in it.
const MAX_FILE: u64 = 16 << 20;
const MAX_CHANGES: usize = 32 << 20;
/// The version of the format that is read.
const VERSION: u64 = 3;
/// How many resources are listed.
const MAX_LISTED: usize = 8;
/// The parts of a plan that are read here, or that change nothing: settings, outputs, checks.
const KNOWN: [u64; 19] = [1, 2, 3, 4, 5, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 25, 26, 27, 28];
/// Options that do not choose another plan or state.
const PLAIN: [&str; 7] = [
    "-auto-approve",
    "-compact-warnings",
    "-input=false",
    "-json",
    "-lock=true",
    "-no-color",
    "-show-sensitive",
];

/// What is done to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ResourceAction {
    Delete,
    Replace,
    Other,
    Update,
    Create,
    Nothing,
}

impl ResourceAction {
    fn of(number: u64) -> ResourceAction {
        match number {
            0 | 2 => ResourceAction::Nothing,
            1 => ResourceAction::Create,
            3 => ResourceAction::Update,
            5 => ResourceAction::Delete,
            6 | 7 => ResourceAction::Replace,
            _ => ResourceAction::Other,
        }
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            ResourceAction::Delete => ("destroys", "to destroy"),
            ResourceAction::Replace => ("destroys and creates again", "to replace"),
            ResourceAction::Other => ("changes in another way", "to change in another way"),
            ResourceAction::Update => ("changes", "to change"),
            ResourceAction::Create => ("creates", "to create"),
            ResourceAction::Nothing => ("leaves", "to leave"),
        }
    }
}

/// What `apply` would do with the plan that it names.
pub fn plan(
    look: &LocalLook<'_>,
    folder: &Path,
    words: &[String],
) -> Result<PlanFact, UnknownReason> {
    let is_set = |name: &str| (look.place.variable)(name).is_some();
    if ["TF_CLI_ARGS", "TF_CLI_ARGS_apply"].into_iter().any(is_set) {
        return Err(UnknownReason::Unsupported);
    }
    let path = files::absolute(plan_file(words)?, folder, look.place.home.as_deref());
    let path = path.ok_or(UnknownReason::Unsupported)?;
    let file = files::read(&path, MAX_FILE)?;
    if !file.is_whole {
        return Err(UnknownReason::TooLarge);
    }
    let changes =
        zip::file(&file.bytes, "tfplan", MAX_CHANGES).ok_or(UnknownReason::Unsupported)?;
    let changes = read(&changes).ok_or(UnknownReason::Unsupported)?;
    let mut parts = PlanParts::default();
    parts.bind("plan", &file.bytes);
    changes.describe(&mut parts);
    Ok(parts.finish())
}

/// The file behind `apply`.
fn plan_file(words: &[String]) -> Result<&str, UnknownReason> {
    let (mut file, mut is_described) = (None, true);
    for word in words.iter().skip(1) {
        match word.strip_prefix("--").map(|rest| format!("-{rest}")).unwrap_or(word.clone()) {
            option if option.starts_with('-') => {
                let is_number = option.strip_prefix("-parallelism=");
                let is_number = is_number.is_some_and(|text| text.parse::<u32>().is_ok());
                is_described &= is_number || PLAIN.contains(&option.as_str());
            }
            _ if file.is_some() => is_described = false,
            _ => file = Some(word.as_str()),
        }
    }
    let file = file.ok_or(UnknownReason::Missing)?;
    if is_described { Ok(file) } else { Err(UnknownReason::Unsupported) }
}

/// The changes of a plan.
struct PlannedChanges {
    /// The most severe first.
    resources: Vec<(ResourceAction, String)>,
    is_destroy: bool,
    /// It has parts that are not read here.
    has_more: bool,
}

fn read(bytes: &[u8]) -> Option<PlannedChanges> {
    let (mut version, mut mode, mut has_more) = (0, 0, false);
    let mut resources = Vec::new();
    for (number, value) in fields(bytes)? {
        match (number, value) {
            (1, FieldValue::Number(found)) => version = found,
            (17, FieldValue::Number(found)) => mode = found,
            (3, FieldValue::Bytes(change)) => resources.push(resource(change)?),
            (number, _) => has_more |= !KNOWN.contains(&number),
        }
    }
    resources.retain(|(action, _)| *action != ResourceAction::Nothing);
    resources.sort();
    (version == VERSION).then_some(PlannedChanges { resources, is_destroy: mode == 1, has_more })
}

/// What happens to a resource.
fn resource(bytes: &[u8]) -> Option<(ResourceAction, String)> {
    let (mut address, mut action) = (String::new(), 0);
    for (number, value) in fields(bytes)? {
        match (number, value) {
            (13, FieldValue::Bytes(text)) => address = String::from_utf8(text.to_vec()).ok()?,
            // A message that is given twice is merged: the last value counts.
            (9, FieldValue::Bytes(change)) => {
                for field in fields(change)? {
                    if let (1, FieldValue::Number(found)) = field {
                        action = found;
                    }
                }
            }
            _ => {}
        }
    }
    Some((ResourceAction::of(action), address))
}

impl PlannedChanges {
    fn describe(&self, parts: &mut PlanParts) {
        use ResourceAction::{Create, Delete, Other, Replace, Update};

        let counts = [Create, Update, Replace, Delete, Other].into_iter().filter_map(|action| {
            let count = self.resources.iter().filter(|(one, _)| *one == action).count();
            (count > 0).then(|| format!("{count} {}", action.words().1))
        });
        let counts: Vec<String> = counts.collect();
        let what = if self.is_destroy { "saved plan to DESTROY" } else { "saved plan" };
        match counts.as_slice() {
            [] => parts.line(&format!("{what}: changes no resources")),
            counts => parts.line(&format!("{what}: {}", counts.join(", "))),
        }
        for (action, address) in self.resources.iter().take(MAX_LISTED) {
            parts.line(&format!("{} {address}", action.words().0));
        }
        if self.resources.len() > MAX_LISTED {
            let more = counted(self.resources.len() - MAX_LISTED, "more resource");
            parts.line(&format!("and {more}"));
        }
        if self.has_more {
            parts.line("the plan has parts that are not shown here, such as actions");
        }
    }
}
