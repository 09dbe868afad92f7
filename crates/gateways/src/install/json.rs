//! JSON files that people write: edited with their comments, order and spacing kept.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::Misread;

/// A value to be written, its members in the order in which they are read.
pub type Item = CstInputValue;

/// How freely a host reads its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As the standard says.
    Strict,
    /// With comments, and nothing else that is new.
    Comments,
    /// JSON5.
    Five,
}

/// An object to be written.
pub fn object<const N: usize>(members: [(&str, Item); N]) -> Item {
    Item::Object(members.into_iter().map(|(name, item)| (name.to_owned(), item)).collect())
}

/// A list to be written.
pub fn list<const N: usize>(items: [Item; N]) -> Item {
    Item::Array(items.into())
}

/// The text of a file that holds only this.
pub fn text_of(item: Item) -> String {
    let Ok(root) = CstRootNode::parse("", &ParseOptions::default()) else { return String::new() };
    root.set_value(item);
    format!("{root}\n")
}

/// A file's text, opened for editing.
pub struct Document {
    root: CstRootNode,
    /// The object that the file is.
    pub top: CstObject,
}

impl Document {
    /// Reads a text; an empty one is an empty object.
    pub fn open(text: &str, kind: Kind) -> Result<Document, Misread> {
        let five = kind == Kind::Five;
        let options = ParseOptions {
            allow_comments: kind != Kind::Strict,
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
        // Agents that read strictly pass over the whole file, hooks and all, and say nothing. The
        // parser below lets comments through in places.
        if kind == Kind::Strict {
            let read = serde_json::from_str::<Value>(text);
            read.map_err(|error| Misread(format!("the agent itself cannot read it ({error})")))?;
        }
        let root =
            CstRootNode::parse(text, &options).map_err(|error| Misread(error.to_string()))?;
        let top = root.object_value().ok_or_else(|| Misread("it is no object".to_owned()))?;
        no_twins(&top)?;
        Ok(Document { root, top })
    }

    /// The text as it is now.
    pub fn text(&self) -> String {
        self.root.to_string()
    }

    /// The value at a path of names, if there is one.
    pub fn at(&self, path: &[&str]) -> Option<Value> {
        let mut here = self.top.to_serde_value()?;
        for name in path {
            here = here.get_mut(name)?.take();
        }
        Some(here)
    }
}

/// A name that stands twice is read differently by different programs, so it is not read at all.
fn no_twins(object: &CstObject) -> Result<(), Misread> {
    let mut names: Vec<String> = Vec::new();
    for member in object.properties() {
        let name = member.decoded_name();
        let name = name.ok_or_else(|| Misread("a name in it cannot be read".to_owned()))?;
        if names.contains(&name) {
            return Err(Misread(format!("`{name}` stands there twice")));
        }
        names.push(name);
        let mut inside: Vec<CstNode> = member.value().into_iter().collect();
        while let Some(node) = inside.pop() {
            if let Some(object) = node.as_object() {
                no_twins(&object)?;
            } else if let Some(list) = node.as_array() {
                inside.extend(list.elements());
            }
        }
    }
    Ok(())
}

/// The object under a name, made if it is missing.
pub fn object_in(object: &CstObject, name: &str) -> Result<CstObject, Misread> {
    object.object_value_or_create(name).ok_or_else(|| Misread(format!("`{name}` is no object")))
}

/// The list under a name, made if it is missing.
pub fn list_in(object: &CstObject, name: &str) -> Result<CstArray, Misread> {
    object.array_value_or_create(name).ok_or_else(|| Misread(format!("`{name}` is no list")))
}

/// Takes a member away if nothing is in it any more.
pub fn prune(object: &CstObject, name: &str) {
    let Some(member) = object.get(name) else { return };
    let empty_object = member.object_value().is_some_and(|it| it.properties().is_empty());
    let empty_list = member.array_value().is_some_and(|it| it.elements().is_empty());
    if empty_object || empty_list {
        member.remove();
    }
}

/// What a value to be written is equal to when it is read.
pub fn value_of(item: &Item) -> Value {
    match item {
        Item::Null => Value::Null,
        Item::Bool(truth) => Value::Bool(*truth),
        Item::Number(digits) => serde_json::from_str(digits).unwrap_or(Value::Null),
        Item::String(text) => Value::String(text.clone()),
        Item::Array(items) => Value::Array(items.iter().map(value_of).collect()),
        Item::Object(members) => Value::Object(
            members.iter().map(|(name, item)| (name.clone(), value_of(item))).collect(),
        ),
    }
}

/// What a file says at a path of names. A file that is missing or broken says nothing here.
pub fn look(file: &std::path::Path, kind: Kind, path: &[&str]) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    Document::open(&text, kind).ok()?.at(path)
}
