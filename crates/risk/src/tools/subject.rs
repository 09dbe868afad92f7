//! The tool being assessed.

use std::borrow::Cow;

use super::table::Role;
use crate::call::Annotations;
use crate::context::Context;
use crate::finding::Findings;
use countersign_json::Value;

/// The members of an object.
pub(super) type Members<'v> = [(Cow<'v, str>, Value<'v>)];

/// One tool with its arguments; a call may hold another one inside.
pub(super) struct Subject<'s> {
    pub name: &'s str,
    pub arguments: &'s Value<'s>,
    pub context: Context<'s>,
    pub agent: Option<&'s str>,
    pub annotations: Annotations,
    pub depth: u8,
}

/// Assesses the tool that the arguments of another one name, where a test finds its name among
/// them.
pub(super) type ReadInner = fn(&Subject<'_>, &dyn Fn(&str, Role) -> bool, &mut Findings);
