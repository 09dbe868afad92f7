//! What waits, seen whole before several are approved at once.

use std::io::{self, Write};

use countersign_client::{Choice, People, Request};

use super::now::now;
use super::proof::{self, Proof};
use super::{house, page, show};
use crate::card::Style;
use crate::failure::Failure;
use crate::terminal::Paint;

/// What waits, by what it takes to approve it.
#[derive(Debug, Default)]
pub struct Waiting {
    /// A yes to all of them together is enough.
    pub easy: Vec<Request>,
    /// Each is asked about alone.
    pub alone: Vec<(Request, Proof)>,
    /// Not all of it can be shown: not to be approved here.
    pub unseen: Vec<Request>,
}

impl Waiting {
    /// Reads each with its card.
    pub fn read(people: &People, listed: &[Request]) -> Result<Waiting, Failure> {
        let mut waiting = Waiting::default();
        for request in listed {
            waiting.add(people.show(id(request)?)?);
        }
        Ok(waiting)
    }

    /// Puts a request where it belongs.
    pub fn add(&mut self, request: Request) {
        let proof = show::card_of(&request).map(|card| proof::needed(&request, &card));
        match proof {
            None | Some(Proof::OnlyWord) => self.unseen.push(request),
            Some(Proof::Yes) => self.easy.push(request),
            Some(proof) => self.alone.push((request, proof)),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.easy.len() + self.alone.len() + self.unseen.len()
    }

    /// Prints each whole: nothing is approved that was folded away.
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
        let listed: Vec<Request> = listed.chain(&self.unseen).cloned().collect();
        page::requests(out, &listed, now(), paint)
    }

    /// Approves what one yes is enough for; says how many the gate took.
    pub fn approve_easy(&self, people: &People, reason: &str) -> Result<usize, Failure> {
        let list = self.easy.iter().map(|one| Ok((id(one)?.to_owned(), one.digest.clone())));
        let list = list.collect::<Result<Vec<_>, Failure>>()?;
        let mut taken = 0;
        for part in list.chunks(500) {
            for result in people.decide_several(part, Choice::Approve, reason)? {
                if let Some(drill) = &result.drill {
                    house::line(&page::safe(&drill.words, 1000))?;
                }
                match result.problem {
                    None => taken += 1,
                    Some(problem) => {
                        let why = page::safe(&problem.detail, 400);
                        house::line(&format!("{}: {why}", page::short(Some(&result.id))))?;
                    }
                }
            }
        }
        Ok(taken)
    }
}

/// One request, whole.
pub fn card(out: &mut dyn Write, request: &Request, paint: Paint) -> io::Result<()> {
    show::print(out, request, Style { paint, all: true })?;
    writeln!(out)
}

/// What to do about a call that cannot be shown whole.
pub fn how_to_see(request: &Request) -> String {
    let words = page::safe(&request.phrase, 60);
    format!("Not all of it fits here: countersign show {words} --all, then approve it alone.")
}

/// The id of a request.
pub fn id(request: &Request) -> Result<&str, Failure> {
    let id = request.id.as_deref();
    id.ok_or_else(|| Failure::Input("this request has no id".to_owned()))
}
