//! The inbox without a screen: lists what waits, then asks, line by line.

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::process::ExitCode;

use countersign_client::{Choice, People, Request};

use super::list::rank;
use super::wires::waiting;
use crate::failure::Failure;
use crate::gate::preview::{self, Waiting, id};
use crate::gate::proof::{Proof, either_word};
use crate::gate::{house, now, page, show};

/// The longest line that is read.
const LONGEST: u64 = 2000;

/// Runs it.
pub fn run(people: &People, json: bool) -> Result<ExitCode, Failure> {
    let mut listed = waiting(people)?;
    listed.sort_by_key(rank);
    if json {
        return house::json(&serde_json::json!({ "requests": listed, "next": null }));
    }
    if listed.is_empty() {
        return house::line("Nothing waits for you.");
    }
    house::say(|out, paint| Ok(page::requests(out, &listed, now::now(), paint)?))?;
    let person = io::stdin().is_terminal();
    let mut asker = Asker { people, lines: io::stdin().lock(), person, over: false };
    let waiting = Waiting::read(people, &listed)?;
    match waiting.count() {
        0 => {}
        1 => asker.one_by_one(&waiting)?,
        _ => asker.several(&waiting)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Somebody who may answer.
struct Asker<'a, R> {
    people: &'a People,
    lines: R,
    /// A person types; else lines come from a pipe, and nothing grave is approved by one.
    person: bool,
    over: bool,
}

impl<R: BufRead> Asker<'_, R> {
    /// One line; empty at the end and for what is no text.
    fn line(&mut self, question: &str) -> Result<String, Failure> {
        let mut out = io::stdout().lock();
        write!(out, "{question}")?;
        out.flush()?;
        let mut bytes = Vec::new();
        if !self.over {
            io::Read::take(&mut self.lines, LONGEST).read_until(b'\n', &mut bytes)?;
        }
        self.over |= bytes.last() != Some(&b'\n');
        if !self.person {
            writeln!(out)?;
        }
        // What broke off or is too long is no answer.
        if self.over {
            return Ok(String::new());
        }
        Ok(String::from_utf8(bytes).unwrap_or_default().trim().to_owned())
    }

    fn several(&mut self, waiting: &Waiting) -> Result<(), Failure> {
        let (count, easy) = (waiting.count(), waiting.easy.len());
        if easy == 0 {
            return self.one_by_one(waiting);
        }
        let listing = Waiting { easy: waiting.easy.clone(), ..Waiting::default() };
        house::say(|out, paint| {
            writeln!(out)?;
            Ok(listing.print(out, paint)?)
        })?;
        let which = if easy == count {
            "Approve all?".to_owned()
        } else {
            format!("Approve the {easy} below HIGH?")
        };
        match self.line(&format!("\n{count} waiting. {which} [y/N/show] "))?.as_str() {
            "y" | "Y" | "yes" => {
                let taken = waiting.approve_easy(self.people, "")?;
                house::line(&format!("{taken} of {easy} approved."))?;
                let alone = waiting.alone.clone();
                let unseen = waiting.unseen.clone();
                self.one_by_one(&Waiting { easy: Vec::new(), alone, unseen })
            }
            "show" | "s" => self.one_by_one(waiting),
            _ => {
                house::line(&format!("Nothing was approved; all {count} wait on."))?;
                Ok(())
            }
        }
    }

    /// The gravest first, each whole, each with its own answer.
    fn one_by_one(&mut self, waiting: &Waiting) -> Result<(), Failure> {
        for (request, proof) in &waiting.alone {
            self.ask(request, *proof)?;
        }
        for request in &waiting.easy {
            self.ask(request, Proof::Yes)?;
        }
        for request in &waiting.unseen {
            let how = preview::how_to_see(request);
            house::say(|out, paint| {
                writeln!(out)?;
                preview::card(out, request, paint)?;
                Ok(writeln!(out, "{how}")?)
            })?;
        }
        Ok(())
    }

    fn ask(&mut self, request: &Request, proof: Proof) -> Result<(), Failure> {
        let words = page::safe(&request.phrase, 60);
        if self.over {
            house::line(&format!("{words}: left waiting."))?;
            return Ok(());
        }
        house::say(|out, paint| {
            writeln!(out)?;
            Ok(preview::card(out, request, paint)?)
        })?;
        let tier = page::safe(&request.tier, 12);
        if proof != Proof::Yes && !self.person {
            house::line(&format!(
                "{words} is {tier}: a person answers it on a terminal (countersign approve {words})."
            ))?;
            return Ok(());
        }
        let question = match proof {
            Proof::Yes => "Approve? [y/N] (n denies, Enter leaves it waiting) ".to_owned(),
            Proof::Word | Proof::OnlyWord => {
                let word = page::safe(&either_word(&request.phrase), 60);
                format!("{tier}. To approve, type {word} (n denies, Enter leaves it pending) ")
            }
            Proof::Reason => {
                format!("{tier}. Why may it happen? (n denies, Enter leaves it waiting) ")
            }
        };
        let said = self.line(&question)?;
        let (choice, reason) = match said.as_str() {
            "n" | "N" | "no" => (Choice::Deny, ""),
            // A reason is more than a yes.
            said if proof == Proof::Reason && !Proof::Yes.is_given(said, "") => {
                if said.is_empty() {
                    return left(&words);
                }
                (Choice::Approve, said)
            }
            said if proof != Proof::Reason && proof.is_given(said, &request.phrase) => {
                (Choice::Approve, "")
            }
            _ => return left(&words),
        };
        match self.people.decide(id(request)?, &request.digest, choice, reason, None) {
            Ok(after) => house::say(|out, paint| {
                writeln!(out, "{words}: {}", show::standing(&after, paint))?;
                Ok(show::drill(out, &after)?)
            })?,
            Err(error) => house::line(&format!("{words}: {}", super::wires::why(&error)))?,
        };
        Ok(())
    }
}

fn left(words: &str) -> Result<(), Failure> {
    house::line(&format!("{words}: left waiting; nothing was approved."))?;
    Ok(())
}
