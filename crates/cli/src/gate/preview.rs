//! Pending requests, shown in full before several are approved together.

use std::io::{self, Write};

use countersign_client::{DecisionChoice, PeopleClient, RequestRecord};

use super::confirmation::{self, Confirmation};
use super::now::now;
use super::{output, page, show};
use crate::card::Style;
use crate::failure::Failure;
use crate::terminal::Paint;

/// Pending requests, grouped by the confirmation they need.
#[derive(Debug, Default)]
pub struct PendingGroups {
    /// One confirmation is enough for all of these.
    pub easy: Vec<RequestRecord>,
    /// Each needs its own confirmation.
    pub alone: Vec<(RequestRecord, Confirmation)>,
    /// Not shown in full: cannot be approved here.
    pub unseen: Vec<RequestRecord>,
}

impl PendingGroups {
    /// Loads each request with its card.
    pub fn read(people: &PeopleClient, listed: &[RequestRecord]) -> Result<PendingGroups, Failure> {
        let mut waiting = PendingGroups::default();
        for request in listed {
            waiting.add(people.show(id(request)?)?);
        }
        Ok(waiting)
    }

    /// Adds a request to its group.
    pub fn add(&mut self, request: RequestRecord) {
        let proof = show::card_of(&request).map(|card| confirmation::needed(&request, &card));
        match proof {
            None | Some(Confirmation::OnlyWord) => self.unseen.push(request),
            Some(Confirmation::Yes) => self.easy.push(request),
            Some(proof) => self.alone.push((request, proof)),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.easy.len() + self.alone.len() + self.unseen.len()
    }

    /// Prints each in full: nothing is approved that was folded.
    pub fn print(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let alone = self.alone.iter().map(|(request, _)| request);
        for request in self.easy.iter().chain(alone) {
            card(out, request, paint)?;
        }
        for request in &self.unseen {
            card(out, request, paint)?;
            writeln!(out, "{}\n", how_to_see(request))?;
        }
        let listed = self.easy.iter().chain(self.alone.iter().map(|(request, _)| request));
        let listed: Vec<RequestRecord> = listed.chain(&self.unseen).cloned().collect();
        page::requests(out, &listed, now(), paint)
    }

    /// Approves the group that one confirmation is enough for; returns how many were accepted.
    pub fn approve_easy(&self, people: &PeopleClient, reason: &str) -> Result<usize, Failure> {
        let list = self.easy.iter().map(|one| Ok((id(one)?.to_owned(), one.digest.clone())));
        let list = list.collect::<Result<Vec<_>, Failure>>()?;
        let mut taken = 0;
        for part in list.chunks(500) {
            for result in people.decide_batch(part, DecisionChoice::Approve, reason)? {
                if let Some(drill) = &result.drill {
                    output::line(&page::safe(&drill.words, 1000))?;
                }
                match result.problem {
                    None => taken += 1,
                    Some(problem) => {
                        let why = page::safe(&problem.detail, 400);
                        output::line(&format!("{}: {why}", page::short(Some(&result.id))))?;
                    }
                }
            }
        }
        Ok(taken)
    }
}

/// One request in full.
pub fn card(out: &mut dyn Write, request: &RequestRecord, paint: Paint) -> io::Result<()> {
    show::print(out, request, Style { paint, all: true })?;
    writeln!(out)
}

/// The hint for a call that cannot be shown in full.
pub fn how_to_see(request: &RequestRecord) -> String {
    let words = page::safe(&request.phrase, 60);
    format!(
        "The call is too long to show here. Run countersign show {words} --all, then approve it separately."
    )
}

/// The id of a request.
pub fn id(request: &RequestRecord) -> Result<&str, Failure> {
    let id = request.id.as_deref();
    id.ok_or_else(|| Failure::Input("this request has no id".to_owned()))
}
