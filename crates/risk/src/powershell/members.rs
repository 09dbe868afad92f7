//! Members and elements of a value.

use super::known_variables::PROFILE;
use super::run::Evaluator;
use super::value::{Kind, MAX_ITEMS, MAX_TEXT, PsValue};
use crate::flow::Taint;
use countersign_shell::UNKNOWN;
use countersign_shell::powershell::ast::{PsAccess, PsExpr};

impl Evaluator<'_, '_, '_, '_> {
    /// `base.member( … )[0]`; `stored` where the last member gets a value.
    pub fn postfix(&mut self, base: &PsExpr<'_>, steps: &[PsAccess<'_>], stored: bool) -> PsValue {
        let mut value = self.value(base);
        for (at, step) in steps.iter().enumerate() {
            value = match step {
                PsAccess::Index(index) => {
                    let index = self.value(index);
                    index_of(&value, &index)
                }
                PsAccess::Member { name, is_static, arguments, start, end } => {
                    let span = self.assessor.span(*start, *end);
                    let name = self.value(name);
                    let arguments = arguments.as_ref().map(|list| {
                        list.iter().map(|argument| self.value(argument)).collect::<Vec<_>>()
                    });
                    let last = stored && at + 1 == steps.len();
                    match arguments {
                        Some(arguments) => {
                            self.call(&value, &name.string(), *is_static, &arguments, span)
                        }
                        None if last => value,
                        None => member_of(&value, &name.string()),
                    }
                }
            };
        }
        value
    }
}

/// Members of files, paths and texts that are the same thing again.
fn is_path_member(name: &str) -> bool {
    matches!(
        name,
        "fullname"
            | "name"
            | "path"
            | "pspath"
            | "value"
            | "content"
            | "line"
            | "basename"
            | "directoryname"
            | "directory"
            | "providerpath"
            | "source"
            | "definition"
            | "currentuserallhosts"
            | "alluserscurrenthost"
            | "allusersallhosts"
            | "currentusercurrenthost"
            | "rawcontent"
    )
}

/// `value[index]`.
fn index_of(value: &PsValue, index: &PsValue) -> PsValue {
    let taint = value.origins();
    let numbers: Option<Vec<i64>> =
        index.items().iter().map(|i| i.known().and_then(|n| n.parse().ok())).collect();
    if let (Kind::Table(members), Some(key)) = (&value.kind, index.known()) {
        let key = key.to_ascii_lowercase();
        let found = members.iter().find(|(name, _)| *name == key);
        return found.map_or_else(PsValue::nothing, |(_, value)| value.clone());
    }
    let Some(numbers) = numbers.filter(|n| n.len() <= MAX_ITEMS) else {
        // Any of its items.
        return PsValue { place: value.place.clone(), ..value.clone() };
    };
    let pick = |count: usize, n: i64| {
        let at = if n < 0 { i64::try_from(count).unwrap_or(0) + n } else { n };
        usize::try_from(at).ok().filter(|at| *at < count)
    };
    let mut picked = Vec::new();
    match &value.kind {
        Kind::List(list) => {
            for n in numbers {
                picked.extend(pick(list.len(), n).and_then(|at| list.get(at)).cloned());
            }
        }
        Kind::Text(text) if !text.contains(UNKNOWN) && text.len() <= MAX_TEXT => {
            let chars: Vec<char> = text.chars().collect();
            for n in numbers {
                let found = pick(chars.len(), n).and_then(|at| chars.get(at));
                picked.extend(found.map(|c| PsValue::text(c.to_string())));
            }
        }
        _ => return PsValue { place: value.place.clone(), ..PsValue::unknown(taint) },
    }
    match picked.len() {
        1 => picked.pop().unwrap_or_default().tainted(taint),
        _ => PsValue::of(Kind::List(picked), taint),
    }
}

/// `value.name` without arguments.
fn member_of(value: &PsValue, name: &str) -> PsValue {
    let name = name.to_ascii_lowercase();
    let taint = value.origins();
    match &value.kind {
        Kind::Table(members) => match members.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => value.clone(),
            None => PsValue::unknown(taint),
        },
        // `[Text.Encoding]::Unicode`, `[Environment]::UserName`.
        Kind::Type(kind) => PsValue::of(Kind::Object(format!("{kind}.{name}")), taint),
        // Where a profile lies beside `$PROFILE` itself.
        Kind::Text(text) if text == PROFILE => value.clone(),
        _ if matches!(name.as_str(), "length" | "count") => PsValue::unknown(Taint::default()),
        Kind::Text(_) | Kind::List(_) if value.place.is_some() => PsValue {
            place: value.place.clone().filter(|_| is_path_member(&name)),
            ..PsValue::unknown(taint)
        },
        Kind::Text(_) | Kind::List(_) if is_path_member(&name) => value.clone(),
        _ => PsValue::unknown(taint),
    }
}
