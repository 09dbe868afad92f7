//! Edits JSON files of people and keeps their comments, order and spacing.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::edit::PatchError;

/// A value to write; its members keep their order.
pub type JsonItem = CstInputValue;

/// The JSON that an agent accepts in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonSyntax {
    /// Standard JSON.
    Strict,
    /// Standard JSON with comments.
    Comments,
    /// JSON5.
    Json5,
}

/// An object to write.
pub fn object<const N: usize>(members: [(&str, JsonItem); N]) -> JsonItem {
    JsonItem::Object(members.into_iter().map(|(name, item)| (name.to_owned(), item)).collect())
}

/// An array to write.
pub fn list<const N: usize>(items: [JsonItem; N]) -> JsonItem {
    JsonItem::Array(items.into())
}

/// The text of a file with only this value.
pub fn text_of(item: JsonItem) -> String {
    let Ok(root) = CstRootNode::parse("", &ParseOptions::default()) else { return String::new() };
    root.set_value(item);
    format!("{root}\n")
}

/// The text of a file, parsed for editing.
pub struct JsonDocument {
    root: CstRootNode,
    /// The outermost object.
    pub top: CstObject,
}

impl JsonDocument {
    /// Parses a text; an empty text is an empty object.
    pub fn open(text: &str, syntax: JsonSyntax) -> Result<JsonDocument, PatchError> {
        let five = syntax == JsonSyntax::Json5;
        let options = ParseOptions {
            allow_comments: syntax != JsonSyntax::Strict,
            allow_trailing_commas: five,
            allow_loose_object_property_names: five,
            allow_missing_commas: false,
            allow_single_quoted_strings: five,
            allow_hexadecimal_numbers: five,
            allow_unary_plus_numbers: five,
            allow_bare_decimal_point_numbers: five,
            allow_non_finite_numbers: five,
            allow_extended_string_escapes: five,
        };
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        // An agent that accepts only standard JSON silently ignores the whole file, hooks included.
        // The parser below accepts comments in some positions.
        if syntax == JsonSyntax::Strict {
            let read = serde_json::from_str::<Value>(text);
            read.map_err(|error| PatchError(format!("the agent itself cannot read it ({error})")))?;
        }
        let root =
            CstRootNode::parse(text, &options).map_err(|error| PatchError(error.to_string()))?;
        let top =
            root.object_value().ok_or_else(|| PatchError("it is not a JSON object".to_owned()))?;
        reject_duplicate_names(&top)?;
        Ok(JsonDocument { root, top })
    }

    /// The edited text.
    pub fn text(&self) -> String {
        self.root.to_string()
    }

    /// The value at a path of member names, if there is one.
    pub fn at(&self, path: &[&str]) -> Option<Value> {
        let mut here = self.top.to_serde_value()?;
        for name in path {
            here = here.get_mut(name)?.take();
        }
        Some(here)
    }
}

/// Programs disagree about which of two equal names counts, so a text with both is rejected.
fn reject_duplicate_names(object: &CstObject) -> Result<(), PatchError> {
    let mut names: Vec<String> = Vec::new();
    for member in object.properties() {
        let name = member.decoded_name();
        let name = name.ok_or_else(|| PatchError("a member name in it is invalid".to_owned()))?;
        if names.contains(&name) {
            return Err(PatchError(format!("it contains `{name}` twice")));
        }
        names.push(name);
        let mut inside: Vec<CstNode> = member.value().into_iter().collect();
        while let Some(node) = inside.pop() {
            if let Some(object) = node.as_object() {
                reject_duplicate_names(&object)?;
            } else if let Some(list) = node.as_array() {
                inside.extend(list.elements());
            }
        }
    }
    Ok(())
}

/// The object under a name, created if it is missing.
pub fn object_in(object: &CstObject, name: &str) -> Result<CstObject, PatchError> {
    object
        .object_value_or_create(name)
        .ok_or_else(|| PatchError(format!("`{name}` is not an object")))
}

/// The array under a name, created if it is missing.
pub fn list_in(object: &CstObject, name: &str) -> Result<CstArray, PatchError> {
    object
        .array_value_or_create(name)
        .ok_or_else(|| PatchError(format!("`{name}` is not an array")))
}

/// Removes a member if it is an empty object or array.
pub fn prune(object: &CstObject, name: &str) {
    let Some(member) = object.get(name) else { return };
    let empty_object = member.object_value().is_some_and(|it| it.properties().is_empty());
    let empty_list = member.array_value().is_some_and(|it| it.elements().is_empty());
    if empty_object || empty_list {
        member.remove();
    }
}

/// A value to write, as it would be read back.
pub fn value_of(item: &JsonItem) -> Value {
    match item {
        JsonItem::Null => Value::Null,
        JsonItem::Bool(truth) => Value::Bool(*truth),
        JsonItem::Number(digits) => serde_json::from_str(digits).unwrap_or(Value::Null),
        JsonItem::String(text) => Value::String(text.clone()),
        JsonItem::Array(items) => Value::Array(items.iter().map(value_of).collect()),
        JsonItem::Object(members) => Value::Object(
            members.iter().map(|(name, item)| (name.clone(), value_of(item))).collect(),
        ),
    }
}

/// The value at a path in a file; none if the file is missing or invalid.
pub fn value_in(file: &std::path::Path, syntax: JsonSyntax, path: &[&str]) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    JsonDocument::open(&text, syntax).ok()?.at(path)
}
