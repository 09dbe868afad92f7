//! Which request is meant: its id, the start of it, or its two words.

use countersign_client::{Filter, People, Request, State};

use super::page;
use crate::failure::Failure;

/// The shortest start of an id.
const LEAST: usize = 4;
/// How far back is looked.
const BACK: u32 = 500;

/// The one request that is meant, with its card; among those that wait first.
pub fn find(people: &People, text: &str, among: Among) -> Result<Request, Failure> {
    if text.len() == 26 && !text.contains('-') {
        return Ok(people.show(text)?);
    }
    let look = |state| -> Result<Vec<Request>, Failure> {
        let filter = Filter { state, limit: Some(BACK), ..Filter::default() };
        let mut found = people.list(&filter)?.requests;
        found.retain(|request| fits(request, text));
        Ok(found)
    };
    let mut found = look(Some(State::Pending))?;
    if found.is_empty() && among == Among::All {
        found = look(None)?;
    }
    let id = one(&found, text)?;
    Ok(people.show(&id)?)
}

/// Where it is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// What waits.
    Waiting,
    /// What waits, then what is past.
    All,
}

/// The id of the only one in a list.
pub fn one(found: &[Request], text: &str) -> Result<String, Failure> {
    if text.len() < LEAST {
        return Err(Failure::at(text, format!("give at least {LEAST} letters of the id")));
    }
    match found {
        [only] => only.id.clone().ok_or_else(|| Failure::at(text, "this request has no id")),
        [] => Err(Failure::at(text, "no request has this id or these words")),
        several => {
            let ids: Vec<&str> = several.iter().map(|one| page::short(one.id.as_deref())).collect();
            Err(Failure::at(text, format!("several fit: {}", ids.join(", "))))
        }
    }
}

/// Whether a request is meant by a text.
pub fn fits(request: &Request, text: &str) -> bool {
    let words = request.phrase == text;
    let start = text.len() >= LEAST
        && request.id.as_deref().is_some_and(|id| id.starts_with(text.to_lowercase().as_str()));
    words || start
}
