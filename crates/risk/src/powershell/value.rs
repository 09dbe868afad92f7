//! What is known of a PowerShell value before the text runs.

use crate::finding::Span;
use crate::flow::{Flow, Taint};
use crate::shell::CommandWord;
use countersign_shell::UNKNOWN;

/// How long a text may grow before it counts as unknown.
pub const MAX_TEXT: usize = 64 * 1024;
/// How deep values may be inside each other.
const MAX_NESTING: u8 = 32;
/// How many items a list keeps.
pub const MAX_ITEMS: usize = 256;

/// A value with its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PsValue {
    /// What is known.
    pub kind: Kind,
    /// Where it comes from.
    pub taint: Taint,
    /// The folder whose files it names, as `Get-ChildItem` lists them.
    pub place: Option<String>,
}

/// What is known of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Kind {
    /// No value.
    #[default]
    Nothing,
    /// Text; unknown parts are `UNKNOWN` characters.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// Several values.
    List(Vec<PsValue>),
    /// A table with the names of its members in lower case.
    Table(Vec<(String, PsValue)>),
    /// A script block.
    Block(Block),
    /// An object of a .NET or COM type, in lower case.
    Object(String),
    /// A .NET type, in lower case.
    Type(String),
    /// Raw bytes.
    Bytes(Vec<u8>),
}

/// A script block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its source text.
    pub source: String,
    /// The names of its parameters.
    pub parameters: Vec<String>,
    /// What it gave when it was read.
    pub output: Box<PsValue>,
}

impl PsValue {
    /// No value.
    pub fn nothing() -> PsValue {
        PsValue::default()
    }

    /// Known text.
    pub fn text(text: impl Into<String>) -> PsValue {
        PsValue::of(Kind::Text(text.into()), Taint::default())
    }

    /// A value of this kind and origin.
    pub fn of(kind: Kind, taint: Taint) -> PsValue {
        PsValue { kind, taint, place: None }
    }

    /// Something of this origin that is only known at run time.
    pub fn unknown(taint: Taint) -> PsValue {
        PsValue::of(Kind::Text(UNKNOWN.to_string()), taint)
    }

    /// The same with more origins.
    #[must_use]
    pub fn tainted(mut self, taint: Taint) -> PsValue {
        self.taint = self.taint.and(taint);
        self
    }

    /// Whether there is no value.
    pub fn is_nothing(&self) -> bool {
        matches!(self.kind, Kind::Nothing)
    }

    /// Its items: those of a list, or itself.
    pub fn items(&self) -> Vec<PsValue> {
        match &self.kind {
            Kind::Nothing => Vec::new(),
            Kind::List(list) => list
                .iter()
                .map(|v| PsValue { taint: v.taint.and(self.taint), ..v.clone() })
                .collect(),
            _ => vec![self.clone()],
        }
    }

    /// The text it turns into inside a string.
    pub fn string(&self) -> String {
        match &self.kind {
            Kind::Nothing => String::new(),
            Kind::Text(text) => match &self.place {
                Some(place) if text.contains(UNKNOWN) => below(place),
                _ => text.clone(),
            },
            Kind::Bool(true) => "True".to_owned(),
            Kind::Bool(false) => "False".to_owned(),
            Kind::Block(block) => block.source.clone(),
            Kind::List(list) => {
                let mut text = String::new();
                for (i, item) in list.iter().enumerate() {
                    if i > 0 {
                        text.push(' ');
                    }
                    text.push_str(&item.string());
                    if text.len() > MAX_TEXT {
                        return UNKNOWN.to_string();
                    }
                }
                text
            }
            Kind::Table(_) | Kind::Object(_) | Kind::Type(_) | Kind::Bytes(_) => {
                UNKNOWN.to_string()
            }
        }
    }

    /// Its text if all of it is known.
    pub fn known(&self) -> Option<String> {
        match &self.kind {
            Kind::Text(_) | Kind::Bool(_) | Kind::List(_) | Kind::Nothing => {
                let text = self.string();
                (!text.contains(UNKNOWN)).then_some(text)
            }
            _ => None,
        }
    }

    /// About how many bytes it takes up; far too many where it is nested too deep.
    pub fn weight(&self, depth: u8) -> usize {
        if depth > MAX_NESTING {
            return usize::MAX;
        }
        let sum = |weight: usize, value: &PsValue| weight.saturating_add(value.weight(depth + 1));
        match &self.kind {
            Kind::Nothing | Kind::Bool(_) => 16,
            Kind::Text(text) | Kind::Object(text) | Kind::Type(text) => 64 + text.len(),
            Kind::Bytes(bytes) => 64 + bytes.len(),
            Kind::List(list) => list.iter().fold(64, sum),
            Kind::Table(members) => members.iter().fold(64, |w, (_, v)| sum(w, v)),
            Kind::Block(block) => sum(64 + block.source.len(), block.output.as_ref()),
        }
    }

    /// All origins in it.
    pub fn origins(&self) -> Taint {
        match &self.kind {
            Kind::List(list) => list.iter().fold(self.taint, |t, v| t.and(v.origins())),
            Kind::Table(members) => members.iter().fold(self.taint, |t, (_, v)| t.and(v.origins())),
            _ => self.taint,
        }
    }

    /// The words it becomes on a command line.
    pub fn words(&self, span: Span, bare: bool) -> Vec<CommandWord> {
        self.items()
            .into_iter()
            .flat_map(
                |item| if matches!(item.kind, Kind::List(_)) { item.items() } else { vec![item] },
            )
            .take(MAX_ITEMS)
            .map(|item| {
                let text = item.string();
                let listed = item.place.is_some() && text.contains(UNKNOWN);
                let glob = listed || bare && text.contains(['*', '?']);
                CommandWord { text, span, taint: item.origins(), glob }
            })
            .collect()
    }

    /// The bytes that flow on through a pipe.
    pub fn flow(&self) -> Flow {
        if self.is_nothing() {
            return Flow::none();
        }
        let taint = self.origins();
        let lines: Option<Vec<String>> = self.items().iter().map(PsValue::known).collect();
        Flow {
            present: true,
            text: lines.map(|lines| lines.join("\n")).filter(|t| t.len() <= MAX_TEXT),
            taint,
            place: self.place.clone(),
            ..Flow::default()
        }
    }

    /// What came out of a command.
    pub fn from_flow(flow: Flow) -> PsValue {
        if !flow.present {
            return PsValue::nothing();
        }
        let mut value = match flow.text {
            Some(text) => PsValue::text(text.trim_end_matches(['\n', '\r'])),
            None => PsValue::unknown(Taint::default()),
        };
        value.taint = flow.taint;
        value.place = flow.place;
        value
    }

    /// Both values, one after the other.
    #[must_use]
    pub fn then(self, next: PsValue) -> PsValue {
        if self.is_nothing() {
            return next;
        }
        if next.is_nothing() {
            return self;
        }
        let taint = self.taint.and(next.taint);
        let place = self.place.clone().or_else(|| next.place.clone());
        let mut items = match self.kind {
            Kind::List(list) => list,
            _ => vec![self],
        };
        match next.kind {
            Kind::List(list) => items.extend(list),
            _ => items.push(next),
        }
        if items.len() > MAX_ITEMS {
            items.truncate(MAX_ITEMS);
            items.push(PsValue::unknown(taint));
        }
        PsValue { kind: Kind::List(items), taint, place }
    }
}

/// Any file in a folder.
pub fn below(place: &str) -> String {
    format!("{}/{UNKNOWN}", place.trim_end_matches('/'))
}

/// The parts of a text as a list; what is behind the last item that is followed is unknown.
pub fn list_of<'p>(parts: impl Iterator<Item = &'p str>, taint: Taint) -> PsValue {
    let mut items: Vec<PsValue> = parts.take(MAX_ITEMS).map(PsValue::text).collect();
    if items.len() == MAX_ITEMS {
        // There may be more than are followed.
        items.push(PsValue::unknown(taint));
    }
    PsValue::of(Kind::List(items), taint)
}

/// A type's name in lower case, without `System.`, type arguments and blanks.
pub fn type_name(name: &str) -> String {
    let lower: String = name.chars().filter(|c| !c.is_whitespace()).collect();
    let lower = lower.to_ascii_lowercase();
    let short = lower.strip_prefix("system.").unwrap_or(&lower);
    match short.find(['[', '(']) {
        Some(at) if !short.ends_with("[]") => short.get(..at).unwrap_or_default().to_owned(),
        _ => short.to_owned(),
    }
}
