//! The inbox without full screen: lists pending requests, then asks line by line.

use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::process::ExitCode;

use countersign_client::{DecisionAnswer, DecisionChoice, PeopleClient, RequestRecord};

use super::list::rank;
use super::threads::waiting;
use crate::failure::Failure;
use crate::gate::confirmation::{Confirmation, either_word};
use crate::gate::preview::{self, PendingGroups, id};
use crate::gate::{now, output, page, show};

/// The longest line that is read.
const LONGEST: u64 = 2000;

/// Runs it.
pub fn run(people: &PeopleClient, json: bool) -> Result<ExitCode, Failure> {
    let mut listed = waiting(people)?;
    listed.sort_by_key(rank);
    if json {
        return output::json(&serde_json::json!({ "requests": listed, "next": null }));
    }
    if listed.is_empty() {
        return output::line("No pending requests.");
    }
    output::say(|out, paint| Ok(page::requests(out, &listed, now::now(), paint)?))?;
    let person = io::stdin().is_terminal();
    let mut asker = Asker { people, lines: io::stdin().lock(), person, over: false };
    let waiting = PendingGroups::read(people, &listed)?;
    match waiting.count() {
        0 => {}
        1 => asker.one_by_one(&waiting)?,
        _ => asker.several(&waiting)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Somebody who may answer.
struct Asker<'a, R> {
    people: &'a PeopleClient,
    lines: R,
    /// A person types; otherwise lines come from a pipe, and no HIGH or CRITICAL call is approved.
    person: bool,
    over: bool,
}

impl<R: BufRead> Asker<'_, R> {
    /// One line; empty at the end of input and for invalid text.
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
        // An incomplete or too long line is not an answer.
        if self.over {
            return Ok(String::new());
        }
        Ok(String::from_utf8(bytes).unwrap_or_default().trim().to_owned())
    }

    fn several(&mut self, waiting: &PendingGroups) -> Result<(), Failure> {
        let (count, easy) = (waiting.count(), waiting.easy.len());
        if easy == 0 {
            return self.one_by_one(waiting);
        }
        let listing = PendingGroups { easy: waiting.easy.clone(), ..PendingGroups::default() };
        output::say(|out, paint| {
            writeln!(out)?;
            Ok(listing.print(out, paint)?)
        })?;
        let which = if easy == count {
            "Approve all?".to_owned()
        } else {
            format!("Approve the {easy} requests below HIGH?")
        };
        match self.line(&format!("\n{count} pending. {which} [y/N/show] "))?.as_str() {
            "y" | "Y" | "yes" => {
                let taken = waiting.approve_easy(self.people, "")?;
                output::line(&format!("{taken} of {easy} approved."))?;
                let alone = waiting.alone.clone();
                let unseen = waiting.unseen.clone();
                self.one_by_one(&PendingGroups { easy: Vec::new(), alone, unseen })
            }
            "show" | "s" => self.one_by_one(waiting),
            _ => {
                output::line(&format!("Nothing was approved; all {count} stay pending."))?;
                Ok(())
            }
        }
    }

    /// The highest tier first, each in full, each with its own answer.
    fn one_by_one(&mut self, waiting: &PendingGroups) -> Result<(), Failure> {
        for (request, proof) in &waiting.alone {
            self.ask(request, *proof)?;
        }
        for request in &waiting.easy {
            self.ask(request, Confirmation::Yes)?;
        }
        for request in &waiting.unseen {
            let how = preview::how_to_see(request);
            output::say(|out, paint| {
                writeln!(out)?;
                preview::card(out, request, paint)?;
                Ok(writeln!(out, "{how}")?)
            })?;
        }
        Ok(())
    }

    fn ask(&mut self, request: &RequestRecord, proof: Confirmation) -> Result<(), Failure> {
        let words = page::safe(&request.phrase, 60);
        if self.over {
            output::line(&format!("{words}: still pending."))?;
            return Ok(());
        }
        output::say(|out, paint| {
            writeln!(out)?;
            Ok(preview::card(out, request, paint)?)
        })?;
        let tier = page::safe(&request.tier, 12);
        if proof != Confirmation::Yes && !self.person {
            output::line(&format!(
                "{words} is {tier}: decide it in a terminal (countersign approve {words})."
            ))?;
            return Ok(());
        }
        let question = question(request, proof, &tier);
        let said = self.line(&question)?;
        let (choice, reason, word) = match said.as_str() {
            "n" | "N" | "no" => (DecisionChoice::Deny, "", ""),
            // A reason is more than a yes.
            said if proof == Confirmation::Reason && !Confirmation::Yes.is_given(said, "") => {
                if said.is_empty() {
                    return left(&words);
                }
                (DecisionChoice::Approve, said, "")
            }
            said if proof != Confirmation::Reason && proof.is_given(said, &request.phrase) => {
                (DecisionChoice::Approve, "", if proof == Confirmation::Yes { "" } else { said })
            }
            _ => return left(&words),
        };
        let digest = &request.digest;
        let answer = DecisionAnswer { reason, word, ..DecisionAnswer::new(choice, digest) };
        match self.people.decide(id(request)?, &answer) {
            Ok(after) => output::say(|out, paint| {
                writeln!(out, "{words}: {}", show::standing(&after, paint))?;
                Ok(show::drill(out, &after)?)
            })?,
            Err(error) => output::line(&format!("{words}: {}", super::threads::why(&error)))?,
        };
        Ok(())
    }
}

/// The prompt for one request.
fn question(request: &RequestRecord, proof: Confirmation, tier: &str) -> String {
    match proof {
        Confirmation::Yes => "Approve? [y/N] (n denies, Enter leaves it pending) ".to_owned(),
        Confirmation::Word | Confirmation::OnlyWord => {
            let word = page::safe(&either_word(&request.phrase), 60);
            format!("{tier}. To approve, type {word} (n denies, Enter leaves it pending) ")
        }
        Confirmation::Reason => {
            format!("{tier}. Reason (required; n denies, Enter leaves it pending) ")
        }
    }
}

fn left(words: &str) -> Result<(), Failure> {
    output::line(&format!("{words}: still pending; nothing was approved."))?;
    Ok(())
}
