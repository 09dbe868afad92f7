//! `countersign reviews` and `feedback`: what ran, and whether it was right.

use std::process::ExitCode;

use countersign_client::{PeopleClient, ReviewRecord};
use serde_json::Value;

use super::args_reviews::{FeedbackArgs, ReviewArgs, ReviewsArgs, ReviewsWhat};
use super::credential::PersonSession;
use super::find_request::{self, RequestSearch};
use super::now::{now, relative_time};
use super::preview::id;
use super::{output, page};
use crate::failure::Failure;

/// The shortest accepted start of an id.
const LEAST: usize = 4;

/// Runs `countersign reviews`.
pub fn run(args: &ReviewsArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        ReviewsWhat::List { all, person } => {
            let reviews = PersonSession::open(person)?.reviews(*all)?;
            if person.json {
                return output::json(&reviews);
            }
            output::say(|out, _| {
                if reviews.is_empty() {
                    return Ok(writeln!(out, "No call waits for a review.")?);
                }
                Ok(page::table(out, &reviews.iter().map(row).collect::<Vec<_>>())?)
            })
        }
        ReviewsWhat::Show(args) => show(args),
        ReviewsWhat::Keep(args) => {
            let session = PersonSession::open(&args.person)?;
            let kept = session.keep_review(&find(&session, &args.review)?)?;
            told(&kept, args.person.json)
        }
        ReviewsWhat::RollBack { force, review } => {
            let session = PersonSession::open(&review.person)?;
            let id = find(&session, &review.review)?;
            told(&session.roll_back_review(&id, *force)?, review.person.json)
        }
    }
}

/// Runs `countersign feedback`.
pub fn feedback(args: &FeedbackArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let request = find_request::find(&session, &args.request, RequestSearch::All)?;
    let said = session.give_feedback(id(&request)?, args.right && !args.wrong)?;
    if args.person.json {
        return output::json(&said);
    }
    let ended = match said.revoked.len() {
        0 => "",
        1 => " One learned grant ended.",
        _ => " Learned grants ended.",
    };
    let words = page::safe(&request.phrase, 60);
    let what = if said.right { "right" } else { "wrong" };
    output::line(&format!("{words} is recorded as {what}.{ended}"))
}

/// The id of the only review that begins with this text.
fn find(people: &PeopleClient, text: &str) -> Result<String, Failure> {
    let start = text.to_lowercase();
    let reviews = people.reviews(true)?;
    let mut found = reviews.iter().filter(|review| review.id.starts_with(&start));
    match (found.next(), found.next()) {
        (Some(one), None) if start.len() >= LEAST => Ok(one.id.clone()),
        (Some(_), _) => Err(Failure::at(text, "give more characters of the id")),
        (None, _) => Err(Failure::at(text, "no review has this id; see countersign reviews list")),
    }
}

fn show(args: &ReviewArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let review = session.review(&find(&session, &args.review)?)?;
    if args.person.json {
        return output::json(&review);
    }
    let text = |value: &Value, name: &str| {
        page::safe(value.get(name).and_then(Value::as_str).unwrap_or("?"), 400)
    };
    output::say(|out, paint| {
        writeln!(out, "{}\n", paint.strong(text(&review, "brief")))?;
        writeln!(out, "  {}, {}", text(&review, "agent"), text(&review, "state"))?;
        if let Some(problem) = review.get("problem").and_then(Value::as_str) {
            writeln!(out, "  {}", page::safe(problem, 400))?;
        }
        let changes = review.get("changes").and_then(Value::as_array);
        for change in changes.into_iter().flatten() {
            writeln!(out, "  {}  {}", text(change, "change"), text(change, "path"))?;
        }
        Ok(())
    })
}

fn told(review: &ReviewRecord, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(review);
    }
    output::line(&format!("{}: {}", page::safe(&review.brief, 160), state(review)))
}

fn state(review: &ReviewRecord) -> String {
    let by = review.person.as_deref().map(|name| format!(" by {}", page::safe(name, 60)));
    format!("{}{}", page::safe(&review.state, 40).replace('_', " "), by.unwrap_or_default())
}

fn row(review: &ReviewRecord) -> Vec<String> {
    let files =
        if review.files == 1 { "1 file".to_owned() } else { format!("{} files", review.files) };
    vec![
        page::short(Some(&review.id)).to_owned(),
        state(review),
        format!("until {}", relative_time(review.until, now())),
        files,
        page::safe(&review.agent, 60),
        page::safe(&review.brief, 160),
    ]
}
