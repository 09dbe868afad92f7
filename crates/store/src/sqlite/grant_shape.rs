//! The shape of a grant, as its columns store it.

use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::session_answer::RepositoryQuestion;
use countersign_workflow::grant::{CommandShape, GrantShape, PartShape, ToolCallShape};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::columns::{Columns, texts, texts_json};
use super::errors::corrupt;
use super::session_question::question;
use crate::error::{StoreError, StoreResult};

/// The columns of a shape.
#[derive(Debug, Default)]
pub(super) struct ShapeColumns<'g> {
    pub word: &'static str,
    pub tool: Option<&'g str>,
    pub targets: Option<String>,
    pub digest: Option<&'g CallDigest>,
    pub commands: Option<String>,
}

/// The columns of a shape that is stored on its own.
pub(super) fn shape_columns(shape: &GrantShape) -> StoreResult<ShapeColumns<'_>> {
    let empty = ShapeColumns::default();
    Ok(match shape {
        GrantShape::Exact { digest } => {
            ShapeColumns { word: "exact", digest: Some(digest), ..empty }
        }
        GrantShape::Action { tool } => ShapeColumns { word: "action", tool: Some(tool), ..empty },
        GrantShape::Targets { tool, targets } => {
            let targets = Some(texts_json(targets)?);
            ShapeColumns { word: "targets", tool: Some(tool), targets, ..empty }
        }
        GrantShape::ToSelf { tool } => ShapeColumns { word: "to_self", tool: Some(tool), ..empty },
        GrantShape::Command(shape) => {
            let (tool, commands) = (Some(shape.tool.as_str()), Some(to_json(shape)?));
            ShapeColumns { word: "command", tool, commands, ..empty }
        }
        GrantShape::ToolCall(shape) => {
            let (tool, commands) = (Some(shape.tool.as_str()), Some(to_json(shape)?));
            ShapeColumns { word: "tool_call", tool, commands, ..empty }
        }
        GrantShape::Part(part) => {
            ShapeColumns { word: "part", commands: Some(to_json(part)?), ..empty }
        }
        GrantShape::SameQuestion { .. } | GrantShape::SameProgram { .. } => {
            return Err(StoreError::Invalid(
                "an approval for the session or the repository is made by approving its request"
                    .to_owned(),
            ));
        }
    })
}

/// Reads the shape from its columns.
pub(super) fn read_shape(columns: &mut Columns<'_, '_>) -> StoreResult<GrantShape> {
    let word: String = columns.next()?;
    let asked = columns.next::<Option<String>>()?;
    let (tool, targets) = (columns.next::<Option<String>>()?, columns.next::<Option<String>>()?);
    let canonical = columns.next::<Option<[u8; 32]>>()?;
    let raw = columns.next::<Option<[u8; 32]>>()?;
    let both_bind = columns.next::<Option<bool>>()?;
    let commands = columns.next::<Option<String>>()?;
    Ok(match (word.as_str(), tool, targets, canonical, raw, both_bind) {
        ("exact", _, _, Some(canonical), Some(raw), Some(both_bind)) => {
            let (canonical, raw) = (Digest::from_bytes(canonical), Digest::from_bytes(raw));
            GrantShape::Exact { digest: CallDigest { canonical, raw, both_bind } }
        }
        ("action", Some(tool), ..) => GrantShape::Action { tool },
        ("targets", Some(tool), Some(targets), ..) => {
            GrantShape::Targets { tool, targets: texts(&targets)? }
        }
        ("to_self", Some(tool), ..) => GrantShape::ToSelf { tool },
        ("command", ..) => {
            GrantShape::Command(Box::new(from_json::<CommandShape>(commands.as_deref())?))
        }
        ("tool_call", ..) => {
            GrantShape::ToolCall(Box::new(from_json::<ToolCallShape>(commands.as_deref())?))
        }
        ("part", ..) => GrantShape::Part(Box::new(from_json::<PartShape>(commands.as_deref())?)),
        ("same_question", ..) => {
            GrantShape::SameQuestion { keys: question(asked.as_deref())?.answers }
        }
        ("same_program", ..) => {
            let RepositoryQuestion { folder: repository, answers: keys } =
                question(asked.as_deref())?.repository.unwrap_or_default();
            GrantShape::SameProgram { repository, keys }
        }
        _ => return Err(corrupt(format!("unknown grant shape `{word}`"))),
    })
}

fn to_json(shape: &impl Serialize) -> StoreResult<String> {
    serde_json::to_string(shape).map_err(|error| StoreError::Invalid(error.to_string()))
}

fn from_json<T: DeserializeOwned>(text: Option<&str>) -> StoreResult<T> {
    serde_json::from_str(text.unwrap_or("null"))
        .map_err(|error| corrupt(format!("invalid shape of a grant: {error}")))
}
