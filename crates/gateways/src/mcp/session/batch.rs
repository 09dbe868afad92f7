//! Several messages in one line: planned once, asked about as one group, answered as one.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use super::{Open, Session, State};
use crate::mcp::clients;
use crate::mcp::judge::{Judged, ask, judge};
use crate::mcp::message::{BATCHES, Id, Kind, ToolCall, tool_call};
use crate::mcp::several::{self, Member};
use crate::mcp::words;

/// A batch whose answers are gathered.
pub(super) struct Gather {
    /// Every request in it, and its answer once that is there. Who was taken back is gone.
    answers: Vec<(Id, Option<String>)>,
    /// Which calls may run side by side, one stage after the other.
    stages: Vec<Vec<Id>>,
    /// Lines that may go to the server as soon as it is their turn.
    ready: HashMap<Id, String>,
}

/// A call of a batch, judged.
struct Called<'a> {
    id: &'a Id,
    written: &'a str,
    text: &'a str,
    call: ToolCall<'a>,
    judged: Judged,
}

impl Gather {
    fn is_open(&self, id: &Id) -> bool {
        self.answers.iter().any(|(one, answer)| one == id && answer.is_none())
    }

    /// The calls whose turn it is.
    fn due(&mut self) -> Vec<(Id, String)> {
        while let Some(stage) = self.stages.first() {
            if stage.iter().any(|id| self.is_open(id)) {
                let ready = &mut self.ready;
                return stage.iter().filter_map(|id| ready.remove_entry(id)).collect();
            }
            self.stages.remove(0);
        }
        Vec::new()
    }

    /// The answer to the client, once all are there.
    fn whole(&self) -> Option<String> {
        let answers: Option<Vec<&str>> =
            self.answers.iter().map(|(_, answer)| answer.as_deref()).collect();
        answers.map(|answers| format!("[{}]", answers.join(",")))
    }
}

impl Session {
    /// Several messages at once.
    pub(super) fn batch(self: &Arc<Session>, parts: &[&str], line: &str) {
        if self.state().version.as_deref() != Some(BATCHES) {
            let why = "batches are known in protocol version 2025-03-26 only";
            return self.say(&words::error("null", -32600, why));
        }
        let members = match several::read(parts) {
            Ok(members) => members,
            Err(answer) => return self.say(&answer),
        };
        let mut state = self.state();
        let in_use = members.iter().filter_map(Member::id).any(|id| state.open.contains_key(id));
        if in_use {
            drop(state);
            let wrong = words::error("null", -32600, "an id in it is in use");
            return self.say(&several::refused(&members, vec![wrong]));
        }
        for member in &members {
            let Kind::Request { id, method, .. } = &member.kind else { continue };
            let open = match method.as_ref() {
                "tools/call" => Open::Held,
                "tools/list" => Open::List,
                _ => Open::Other,
            };
            state.open.insert(id.clone(), open);
        }
        let unknown = members.iter().any(|member| match &member.kind {
            Kind::Request { params, .. } if member.is_call() => {
                let call = tool_call(member.text, params);
                call.is_ok_and(|call| self.tools().must_ask(call.name))
            }
            _ => false,
        });
        let may_list = state.ready;
        match &mut state.listing {
            Some(waiting) => waiting.push(line.to_owned()),
            None if unknown && may_list => {
                state.listing = Some(vec![line.to_owned()]);
                drop(state);
                let session = Arc::clone(self);
                thread::spawn(move || session.list(None));
            }
            None => {
                drop(state);
                self.decide_all(&members, line);
            }
        }
    }

    /// The same once the server's tools are known.
    pub(super) fn decide_all(self: &Arc<Session>, members: &[Member<'_>], line: &str) {
        let mut calls: Vec<Called<'_>> = Vec::new();
        let mut wrong: Vec<(&Id, String)> = Vec::new();
        let mut is_whole = true;
        for member in members {
            let answer = several::look(&self.settings.server, member, &self.reports);
            wrong.extend(member.id().zip(answer));
        }
        for member in members.iter().filter(|member| member.is_call()) {
            let Kind::Request { id, written, params, .. } = &member.kind else { continue };
            // It may have been taken back while the tools were listed.
            if !matches!(self.state().open.get(id), Some(Open::Held)) {
                is_whole = false;
                continue;
            }
            match tool_call(member.text, params) {
                Ok(call) => {
                    let judged = self.judge_one(&call);
                    calls.push(Called { id, written, text: member.text, call, judged });
                }
                Err(why) => wrong.push((id, words::error(written, -32602, &why))),
            }
        }
        is_whole &= wrong.is_empty();
        if is_whole && calls.iter().all(|one| matches!(one.judged, Judged::Pass { .. })) {
            let mut state = self.state();
            for one in &calls {
                state.open.insert(one.id.clone(), Open::Other);
            }
            drop(state);
            return self.pass(line);
        }
        let named = |stage: Vec<usize>| -> Vec<Id> {
            stage.into_iter().filter_map(|at| Some(calls.get(at)?.id.clone())).collect()
        };
        let stages = several::stages(&self.settings.server, calls.iter().map(|one| &one.call));
        let stages = stages.into_iter().map(named).collect();
        {
            let mut state = self.state();
            let ids = members.iter().filter_map(Member::id);
            let open = ids.filter(|id| state.open.contains_key(id));
            let answers = open.map(|id| (id.clone(), None)).collect();
            state.gathers.push(Gather { answers, stages, ready: HashMap::new() });
        }
        for (id, answer) in wrong {
            self.end(id, &answer);
        }
        self.go_on_all(calls);
        for member in members {
            self.pass_other(member);
        }
    }

    fn judge_one(&self, call: &ToolCall<'_>) -> Judged {
        let seen = self.tools().see(call.name);
        match judge(&self.settings.server, call, &seen) {
            // What cannot be written down goes through the gate.
            Judged::Pass { tool } if !self.reports.passes(&tool, call.raw) => {
                ask(&tool, call, &seen)
            }
            judged => judged,
        }
    }

    fn go_on_all(self: &Arc<Session>, calls: Vec<Called<'_>>) {
        let mut asked = Vec::new();
        for Called { id, written, text, call, judged } in calls {
            let line = format!("{text}\n");
            match judged {
                Judged::Pass { .. } => self.run(id, &line),
                Judged::No(no) => {
                    self.end(id, &words::answer(written, &words::result(&no, false)));
                }
                Judged::Ask(mut asking) => {
                    let patience = self.patience(&call.meta);
                    asking.question.timeout_seconds = clients::deadline(patience);
                    asked.push((*asking, self.holder(id, written, &call, &line, patience)));
                }
            }
        }
        self.desk.hold_all(asked);
    }

    /// What is no call goes on at once, as it is.
    fn pass_other(self: &Arc<Session>, member: &Member<'_>) {
        let line = format!("{}\n", member.text);
        match &member.kind {
            Kind::Request { .. } if member.is_call() => {}
            // It may be answered already.
            Kind::Request { id, .. } if !self.state().open.contains_key(id) => {}
            Kind::Notification { method, params } => {
                if method != "notifications/cancelled" || !self.taken_back(params) {
                    self.pass(&line);
                }
            }
            _ => self.pass(&line),
        }
    }

    /// A call may run: now, or when the calls before it in its batch are over.
    pub(super) fn run(&self, id: &Id, line: &str) {
        let mut state = self.state();
        let Some(gather) = state.gathers.iter_mut().find(|gather| gather.is_open(id)) else {
            drop(state);
            return self.pass(line);
        };
        gather.ready.insert(id.clone(), line.to_owned());
        let due = gather.due();
        self.send_due(state, due);
    }

    fn send_due(&self, mut state: std::sync::MutexGuard<'_, State>, due: Vec<(Id, String)>) {
        let mut lines = Vec::with_capacity(due.len());
        for (id, line) in due {
            match state.open.get_mut(&id) {
                // It was harmless, and waited only for its turn.
                Some(open @ Open::Held) => *open = Open::Other,
                Some(_) => {}
                None => continue,
            }
            lines.push(line);
        }
        // A server that does not read must not keep the others.
        drop(state);
        for line in lines {
            self.pass(&line);
        }
    }

    /// The answer to a request of a batch is kept until all are there. Whether it was one.
    pub(super) fn is_gathered(&self, id: &Id, answer: Option<&str>) -> bool {
        let mut state = self.state();
        let Some(at) = state.gathers.iter().position(|gather| gather.is_open(id)) else {
            return false;
        };
        let Some(gather) = state.gathers.get_mut(at) else { return false };
        match answer {
            Some(text) => {
                let place = gather.answers.iter_mut().find(|(one, _)| one == id);
                if let Some((_, place)) = place {
                    *place = Some(text.trim().to_owned());
                }
            }
            None => gather.answers.retain(|(one, _)| one != id),
        }
        gather.ready.remove(id);
        let (due, whole) = (gather.due(), gather.whole());
        let is_empty = gather.answers.is_empty();
        if whole.is_some() {
            state.gathers.remove(at);
        }
        self.send_due(state, due);
        if let (Some(whole), false) = (whole, is_empty) {
            self.say(&whole);
        }
        true
    }
}
