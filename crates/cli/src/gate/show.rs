//! `countersign show`, `pending` and `history`.

use std::io::{self, Write};
use std::process::ExitCode;

use countersign_client::{Filter, RequestPage, RequestRecord, RequestStatus};

use super::args;
use super::credential::PersonSession;
use super::find_request::{self, RequestSearch};
use super::now::{now, relative_time};
use super::{output, page};
use crate::card::{self, Style};
use crate::engine::{self, Card};
use crate::failure::Failure;
use crate::terminal::{self, Paint};

/// Runs `countersign pending`.
pub fn pending(args: &args::Pending) -> Result<ExitCode, Failure> {
    let filter =
        Filter { state: Some(RequestStatus::Pending), limit: Some(500), ..Filter::default() };
    let page = PersonSession::open(&args.person)?.list(&filter)?;
    if args.person.json {
        return output::json(&page);
    }
    output::say(|out, paint| {
        if page.requests.is_empty() {
            return Ok(writeln!(out, "No pending requests.")?);
        }
        page::requests(out, &page.requests, now(), paint)?;
        let hint = "\nDetails: countersign show WORDS   Decide: countersign approve|deny WORDS";
        Ok(writeln!(out, "{}", paint.faint(hint))?)
    })
}

/// Runs `countersign history`.
pub fn history(args: &args::History) -> Result<ExitCode, Failure> {
    let filter = Filter {
        state: args.state.as_deref().map(state).transpose()?,
        agent: args.agent.clone(),
        q: args.q.clone(),
        before: args.before.clone(),
        limit: Some(args.limit),
        ..Filter::default()
    };
    let page = PersonSession::open(&args.person)?.list(&filter)?;
    if args.person.json {
        return output::json(&page);
    }
    output::say(|out, paint| {
        if page.requests.is_empty() {
            writeln!(out, "{}", no_match(&page, args.q.as_deref()))?;
        }
        page::requests(out, &page.requests, now(), paint)?;
        if let Some(next) = &page.next {
            let what = if page.truncated {
                "The search stopped at its limit; older requests were not searched. Continue"
            } else {
                "Older requests"
            };
            let hint = format!("{what}: --before {}", page::safe(next, 60));
            writeln!(out, "{}", paint.faint(hint))?;
        }
        Ok(())
    })
}

/// "No requests match" is printed only if every request was searched.
fn no_match(page: &RequestPage, text: Option<&str>) -> String {
    let which = if page.next.is_some() { "No match so far" } else { "No requests match" };
    match text {
        Some(text) => format!("{which}: {}", page::safe(text, 120)),
        None => format!("{which}."),
    }
}

fn state(word: &str) -> Result<RequestStatus, Failure> {
    let all = [
        RequestStatus::Pending,
        RequestStatus::Approved,
        RequestStatus::Denied,
        RequestStatus::Expired,
        RequestStatus::Cancelled,
    ];
    all.into_iter().find(|state| state.as_str() == word).ok_or_else(|| {
        Failure::at("--state", "use pending, approved, denied, expired or cancelled")
    })
}

/// Runs `countersign show`.
pub fn show(args: &args::Show) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let request = find_request::find(&session, &args.request, RequestSearch::All)?;
    if args.person.json {
        return output::json(&request);
    }
    output::say(|out, paint| Ok(print(out, &request, Style { paint, all: args.all })?))
}

/// The card of a request, if it belongs to exactly this call.
pub fn card_of(request: &RequestRecord) -> Option<Card> {
    let text = request.card.as_ref()?.to_string();
    let card = engine::read_card(&text).ok()?;
    (card.digest.to_string() == request.digest).then_some(card)
}

/// The card of the edited call that was approved, if there is one.
fn edited_card_of(request: &RequestRecord) -> Option<Card> {
    let text = request.edited_card.as_ref()?.to_string();
    engine::read_card(&text).ok()
}

/// The edited call before the original: the edited call is what was approved.
fn print_edited(out: &mut dyn Write, request: &RequestRecord, style: Style) -> io::Result<()> {
    let Some(arguments) = &request.edited_arguments else { return Ok(()) };
    let paint = style.paint;
    writeln!(out, "{}", paint.strong("Edited call (this is what was approved)"))?;
    if let Some(card) = edited_card_of(request) {
        writeln!(out, "{}\n", page::safe(&card.brief, 400))?;
        card::print_stored(out, &card, style)?;
        writeln!(out, "  {}  {}", paint.faint("words   "), page::safe(&card.phrase, 60))?;
    } else {
        writeln!(out, "  The assessment of this edit was not recorded.")?;
        writeln!(out, "  {}", page::safe(&arguments.to_string(), 8000))?;
    }
    writeln!(out, "\n{}", paint.strong("Original call (it was not approved)"))
}

/// The call that an edit took the place of, or the edit that was not approved, before the call of
/// the request.
fn print_proposed(out: &mut dyn Write, request: &RequestRecord, style: Style) -> io::Result<()> {
    let Some(edit) = request.proposed_edit.as_ref().filter(|_| request.edited.is_none()) else {
        return Ok(());
    };
    let (paint, by) = (style.paint, page::safe(&edit.by, 80));
    let is_pending = request.decision.is_none();
    let (title, card, next) = if is_pending {
        let missing = edit.needed.saturating_sub(request.approvals);
        let needed = edit.needed;
        let next = format!(
            "Edited by {by} (this is what you approve): {needed} people must approve it, \
             {missing} missing"
        );
        ("Original call (it does not run)".to_owned(), &request.original_card, next)
    } else {
        let title = format!("Proposed edit by {by} (it was not approved)");
        (title, &request.proposed_card, "Original call (it was not approved)".to_owned())
    };
    writeln!(out, "{}", paint.strong(title))?;
    match card.as_ref().and_then(|card| engine::read_card(&card.to_string()).ok()) {
        Some(card) => {
            writeln!(out, "{}\n", page::safe(&card.brief, 400))?;
            card::print_stored(out, &card, style)?;
        }
        None => writeln!(out, "  The call cannot be shown here.")?,
    }
    writeln!(out, "\n{}", paint.strong(next))
}

/// The whole request: the summary first, then the call, why, who, until when.
pub fn print(out: &mut dyn Write, request: &RequestRecord, style: Style) -> io::Result<()> {
    let paint = style.paint;
    print_edited(out, request, style)?;
    print_proposed(out, request, style)?;
    writeln!(out, "{}\n", paint.strong(page::brief(request)))?;
    if let Some(card) = card_of(request) {
        card::print_stored(out, &card, style)?;
    } else {
        let tier = page::safe(&request.tier, 12);
        writeln!(out, "{tier}  {}\n", page::safe(&request.tool, 80))?;
        writeln!(out, "  The call itself cannot be shown here.")?;
    }
    writeln!(out)?;
    let mut fact =
        |name: &str, text: String| writeln!(out, "  {}  {text}", paint.faint(format!("{name:<8}")));
    if request.crisis {
        let words = "a person may be in crisis; no grant and no mode approves this call";
        fact("crisis", paint.with(terminal::CRISIS, words).to_string())?;
    }
    if let Some(words) = request.description.as_deref().filter(|words| !words.is_empty()) {
        fact("it says", page::safe(words, 2000))?;
    }
    if let Some(opinion) = &request.judge {
        let text = page::safe(&opinion.text, 400);
        let against = opinion.verdict == "deny";
        fact("judge", if against { paint.strong(text).to_string() } else { text })?;
    }
    let session = request.session.as_deref().filter(|session| !session.is_empty());
    let session =
        session.map_or(String::new(), |name| format!(", session {}", page::safe(name, 80)));
    let now = now();
    let since = relative_time(request.created, now);
    fact("asks", format!("{}{session}, {since}", page::safe(&request.asking_label(), 80)))?;
    fact("state", standing(request, paint))?;
    if let Some(drill) = &request.drill {
        fact("drill", page::safe(&drill.words, 1000))?;
    }
    for vote in request.votes.iter().flatten() {
        let reason = quoted(&vote.reason);
        let person = page::safe(&vote.person, 80);
        fact("vote", format!("{person}: {}{reason}", page::safe(&vote.choice, 12)))?;
    }
    fact("id", page::safe(request.id.as_deref().unwrap_or("-"), 60))?;
    fact("words", paint.strong(page::safe(&request.phrase, 60)).to_string())
}

/// The explanation of a drill after it ended.
pub fn drill(out: &mut dyn Write, request: &RequestRecord) -> io::Result<()> {
    request.drill.iter().try_for_each(|drill| writeln!(out, "{}", page::safe(&drill.words, 1000)))
}

/// The state for people.
pub fn standing(request: &RequestRecord, paint: Paint) -> String {
    let now = now();
    let Some(decision) = &request.decision else {
        let needed = request.quorum.approve;
        let votes = match needed {
            0 | 1 => String::new(),
            _ => format!(", {} of {needed} approvals", request.approvals),
        };
        return format!(
            "pending; denied {} if not answered{votes}",
            relative_time(request.deadline, now)
        );
    };
    let by = page::safe(&decision.by.describe(), 200);
    let scope = decision.scope_text();
    let word = paint.strong(decision.result.as_str());
    let edited = match (&request.edited, &request.edited_arguments) {
        (Some(edited), _) => {
            let (tier, brief) = (page::safe(&edited.tier, 12), page::safe(&edited.brief, 400));
            format!(" as edited ({tier}: {brief})")
        }
        (None, Some(_)) => " as edited".to_owned(),
        (None, None) => String::new(),
    };
    format!(
        "{word}{edited}{scope} by {by}, {}{}",
        relative_time(decision.at, now),
        quoted(&decision.reason)
    )
}

fn quoted(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", page::safe(reason, 2000)) }
}
