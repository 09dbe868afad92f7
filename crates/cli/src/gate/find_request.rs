//! Finds a request by its id, the start of its id, or its two words.

use countersign_client::{Filter, PeopleClient, RequestRecord, RequestStatus};

use super::page;
use crate::failure::Failure;

/// The shortest accepted start of an id.
const LEAST: usize = 4;
/// How many past requests are searched.
const BACK: u32 = 500;

/// The request with its card; pending requests are searched first.
pub fn find(
    people: &PeopleClient,
    text: &str,
    among: RequestSearch,
) -> Result<RequestRecord, Failure> {
    if text.len() == 26 && !text.contains('-') {
        return Ok(people.show(text)?);
    }
    let look = |state| -> Result<Vec<RequestRecord>, Failure> {
        let filter = Filter { state, limit: Some(BACK), ..Filter::default() };
        let mut found = people.list(&filter)?.requests;
        found.retain(|request| fits(request, text));
        Ok(found)
    };
    let mut found = look(Some(RequestStatus::Pending))?;
    if found.is_empty() && among == RequestSearch::All {
        found = look(None)?;
    }
    let id = one(&found, text)?;
    Ok(people.show(&id)?)
}

/// Which requests are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestSearch {
    /// Pending requests.
    Waiting,
    /// Pending requests, then past ones.
    All,
}

/// The id of the only match in a list.
pub fn one(found: &[RequestRecord], text: &str) -> Result<String, Failure> {
    if text.len() < LEAST {
        return Err(Failure::at(text, format!("give at least {LEAST} characters of the id")));
    }
    match found {
        [only] => only.id.clone().ok_or_else(|| Failure::at(text, "this request has no id")),
        [] => Err(Failure::at(text, "no request has this id or these two words")),
        several => {
            let ids: Vec<&str> = several.iter().map(|one| page::short(one.id.as_deref())).collect();
            Err(Failure::at(text, format!("several requests match: {}", ids.join(", "))))
        }
    }
}

/// Whether a text matches a request.
pub fn fits(request: &RequestRecord, text: &str) -> bool {
    let words = request.phrase == text;
    let start = text.len() >= LEAST
        && request.id.as_deref().is_some_and(|id| id.starts_with(text.to_lowercase().as_str()));
    words || start
}
