//! Grants for commands of one form: which can be given for a request, and what they would have
//! covered before.

use countersign_risk::card::Card;
use countersign_store::{RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::{
    ArgumentConstraint, CommandPattern, CommandShape, ShapeError, ShownCommand, ShownToolCall,
    ToolCallShape,
};
use countersign_workflow::request::{Decider, State};

use super::state::Gate;

/// How many requests of the past are compared with a shape, and how many at once.
const MAX_HISTORY: usize = 5_000;
const PAGE: u32 = 500;
/// How many examples are shown.
const EXAMPLES: usize = 8;

/// A command that was asked about, and what people answered.
#[derive(Debug, Clone)]
pub struct ShapeExample {
    /// The request.
    pub request: Id,
    /// The command, redacted.
    pub command: String,
    /// Whether people denied it.
    pub denied: bool,
    /// When it was asked.
    pub at: Timestamp,
}

/// What a shape would have covered.
#[derive(Debug, Clone, Default)]
pub struct ShapeHistory {
    /// How many calls that people approved.
    pub approved: u32,
    /// How many calls that people denied.
    pub denied: u32,
    /// Some of them, the denied ones first, each command once.
    pub examples: Vec<ShapeExample>,
}

/// A shape that can be granted for a request.
#[derive(Debug, Clone)]
pub struct ShapeProposal {
    /// The shape.
    pub shape: CommandShape,
    /// What it would have covered.
    pub history: ShapeHistory,
}

/// The command of a request, if a pattern can stand for it, and its repository.
pub fn shown_command(stored: &StoredRequest) -> Option<(ShownCommand, Option<String>)> {
    let is_whole = stored.edited.is_none() && !stored.request.crisis;
    let card = countersign_json::parse(&stored.card).ok().filter(|_| is_whole)?;
    let shown = ShownCommand::new(&Card::from_json(&card).ok()?)?;
    let repository = stored.session_question.repository.as_ref();
    Some((shown, repository.map(|found| found.folder.clone())))
}

/// The text of a call for a grant: its command, or its tool and arguments.
pub fn shown_call(stored: &StoredRequest, longest: usize) -> Option<String> {
    let card = countersign_json::parse(&stored.card).ok()?;
    let card = Card::from_json(&card).ok()?;
    let call = card.command.unwrap_or_else(|| format!("{} {}", card.tool, card.arguments));
    Some(countersign_text::sanitize::sanitize_within(&call, longest).text.into_owned())
}

/// The shape of a pattern for a request.
pub fn shape_for(stored: &StoredRequest, pattern: &str) -> Result<CommandShape, String> {
    let (shown, repository) =
        shown_command(stored).ok_or_else(|| ShapeError::NotPlain.message().to_owned())?;
    let pattern = CommandPattern::parse(pattern)?;
    CommandShape::new(&shown, pattern, repository).map_err(|error| error.message().to_owned())
}

/// The shape of conditions on the arguments of a request's tool.
pub fn tool_call_shape(
    stored: &StoredRequest,
    conditions: Vec<ArgumentConstraint>,
) -> Result<ToolCallShape, String> {
    let shown = shown_tool_call(stored)
        .ok_or("the card does not show the whole call, so it cannot have conditions")?;
    ToolCallShape::new(&shown, conditions).map_err(|error| error.message().to_owned())
}

/// The tool call of a request, if its card shows all of it.
fn shown_tool_call(stored: &StoredRequest) -> Option<ShownToolCall> {
    let is_whole = stored.edited.is_none() && !stored.request.crisis;
    let card = countersign_json::parse(&stored.card).ok().filter(|_| is_whole)?;
    ShownToolCall::of_card(&Card::from_json(&card).ok()?)
}

impl Gate {
    /// The shapes that could be granted for a request: exactly its command, and with holes for
    /// numbers and paths.
    pub async fn shape_proposals(
        &self,
        stored: &StoredRequest,
    ) -> Result<Vec<ShapeProposal>, StoreError> {
        let Some((shown, repository)) = shown_command(stored) else { return Ok(Vec::new()) };
        let wide = CommandPattern::generalize(&shown.command, repository.as_deref());
        let mut found = Vec::new();
        for pattern in CommandPattern::exactly(&shown.command).into_iter().chain(wide) {
            if let Ok(shape) = CommandShape::new(&shown, pattern, repository.clone()) {
                let history = self.shape_history(&shape).await?;
                found.push(ShapeProposal { shape, history });
            }
        }
        Ok(found)
    }

    /// What a shape would have covered of the calls that people answered.
    pub async fn shape_history(&self, shape: &CommandShape) -> Result<ShapeHistory, StoreError> {
        let (mut history, mut read, mut before) = (ShapeHistory::default(), 0, None);
        loop {
            let query = RequestQuery { before, limit: PAGE, ..RequestQuery::default() };
            let page = self.store.find(query).await?;
            read += page.requests.len();
            for stored in &page.requests {
                history.note(shape, stored);
            }
            before = page.next;
            if before.is_none() || read >= MAX_HISTORY {
                break;
            }
        }
        history.examples.sort_by_key(|example| !example.denied);
        history.examples.truncate(EXAMPLES);
        Ok(history)
    }
}

impl ShapeHistory {
    fn note(&mut self, shape: &CommandShape, stored: &StoredRequest) {
        let Some(denied) = answer_of(stored) else { return };
        let Some((shown, repository)) = shown_command(stored) else { return };
        if !shape.covers_shown(&shown, repository.as_deref()) {
            return;
        }
        let count = if denied { &mut self.denied } else { &mut self.approved };
        *count = count.saturating_add(1);
        let is_known = |one: &ShapeExample| one.command == shown.command && one.denied == denied;
        if !self.examples.iter().any(is_known) {
            let (request, at) = (stored.request.id, stored.request.schedule.created);
            self.examples.push(ShapeExample { request, command: shown.command, denied, at });
        }
    }
}

/// Whether people denied a request; none if no person answered it.
fn answer_of(stored: &StoredRequest) -> Option<bool> {
    let made = stored.request.decision.as_ref()?;
    let by_people = matches!(made.by, Decider::People(_)) && !stored.request.requester.is_drill();
    match made.state {
        State::Approved if by_people => Some(false),
        State::Denied if by_people => Some(true),
        _ => None,
    }
}
