//! Recorded agent sessions, in order, with grants and learning: how many questions are left, and
//! whether an attack among them passes. `COUNTERSIGN_SESSIONS` names the folder, with
//! `sessions.jsonl`, `asked_labels.jsonl` and `dangerous.jsonl`; nothing of it is kept here.

#[cfg(test)]
mod replay {
    use std::collections::{BTreeMap, HashMap, HashSet};
    use std::path::Path;

    use countersign_json::canonical::CallDigest;
    use countersign_risk::assess::{Assessment, assess};
    use countersign_risk::call::Call;
    use countersign_risk::call_digest::digest;
    use countersign_risk::card::Card;
    use countersign_risk::effect::{Effect, Effects};
    use countersign_risk::file_changes::{ChangedFile, file_changes};
    use countersign_risk::session::SessionMemory;
    use countersign_risk::session_answer::SessionQuestion;
    use countersign_risk::verdict::{Policy, Verdict};
    use countersign_types::id::Id;
    use countersign_types::tier::Tier;
    use countersign_types::time::{Millis, Moment, Timestamp};
    use countersign_workflow::grant::{
        CommandPattern, CommandShape, Grant, GrantDetails, GrantIndex, GrantQuery, GrantShape,
        REPOSITORY_ANSWER_LASTS, SESSION_ANSWER_LASTS, ShownCommand,
    };
    use countersign_workflow::learning::{
        AnsweredCommand, CommandForm, DEFAULT_APPROVALS, FormCounts, RepeatedAnswer,
    };
    use proof_skip::{Cause, skip};
    use serde_json::{Value, json};

    fn rows(folder: &Path, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The root folder of each session: the shortest that at least a twentieth of its calls ran in.
    fn projects(rows: &[Value]) -> HashMap<String, String> {
        let mut folders: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
        for row in rows {
            if let (Some(session), Some(cwd)) = (row["session"].as_str(), row["cwd"].as_str()) {
                *folders.entry(session).or_default().entry(cwd).or_default() += 1;
            }
        }
        let mut roots = HashMap::new();
        for (session, counts) in folders {
            let all: usize = counts.values().sum();
            let often = counts.into_iter().filter(|(_, count)| *count * 20 >= all);
            let root = often.map(|(folder, _)| folder).min_by_key(|folder| (folder.len(), *folder));
            roots.extend(root.map(|root| (session.to_owned(), root.to_owned())));
        }
        roots
    }

    /// One call of the replay.
    struct Recorded {
        text: String,
        session: String,
        agent: String,
        project: Option<String>,
        attack: bool,
        wanted: bool,
    }

    fn recorded(row: &Value, place: &Value, project: Option<&String>, attack: bool) -> Recorded {
        let mut call = match row["tool"].as_str() {
            Some(tool) => json!({ "tool": tool, "arguments": row["arguments"] }),
            None => json!({ "command": row["command"] }),
        };
        for (name, from) in [("cwd", "cwd"), ("session", "session"), ("host", "agent")] {
            if place[from].is_string() {
                call[name] = place[from].clone();
            }
        }
        if let Some(project) = project {
            call["project"] = json!(project);
        }
        let text = |name: &str| place[name].as_str().unwrap_or_default().to_owned();
        Recorded {
            text: call.to_string(),
            session: text("session"),
            agent: text("agent"),
            project: project.cloned(),
            attack,
            wanted: false,
        }
    }

    /// The sessions in order; with an attack before about one call in `every`.
    fn calls(folder: &Path, every: u64, seed: u64) -> Vec<Recorded> {
        let sessions = rows(folder, "sessions.jsonl");
        let labels = rows(folder, "asked_labels.jsonl");
        let key = |row: &Value| (row["session"].to_string(), row["i"].to_string());
        let harmless: HashSet<_> =
            labels.iter().filter(|row| row["label"] != "right").map(key).collect();
        let attacks = rows(folder, "dangerous.jsonl");
        let attacks: Vec<_> = attacks.iter().filter(|row| row["label"] == "dangerous").collect();
        let projects = projects(&sessions);
        let (mut state, mut all) = (seed, Vec::new());
        let mut roll = |end: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        for row in &sessions {
            let project = row["session"].as_str().and_then(|session| projects.get(session));
            if every > 0 && roll(every) == 0 {
                let attack = attacks[usize::try_from(roll(attacks.len() as u64)).unwrap()];
                all.push(recorded(attack, row, project, true));
            }
            let wanted = harmless.contains(&key(row));
            all.push(Recorded { wanted, ..recorded(row, row, project, false) });
        }
        all
    }

    /// What the person and the learning do.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Setting {
        /// Answers for the rest of the session only.
        Session,
        /// Also answers for the repository.
        Repository,
        /// Also a grant for the widest form of each approved command that is offered.
        Forms,
        /// Also learned grants.
        Learning,
        /// Also a grant for each service tool that creates or changes data (MEDIUM).
        Tools,
    }

    #[derive(Default)]
    struct Figures {
        questions: BTreeMap<String, u64>,
        /// Attacks: all, those that pass by their assessment, those that a grant let pass.
        attacks: [u64; 3],
        passed: Vec<String>,
        covered: u64,
        /// Questions by their most severe reason.
        causes: BTreeMap<String, u64>,
        /// Questions about calls that may run first and be reviewed afterwards.
        reviewable: u64,
        /// Questions of calls whose working directory was not recorded.
        placeless: u64,
        forms: u64,
        learned: u64,
    }

    struct Replay {
        setting: Setting,
        memories: HashMap<String, SessionMemory>,
        index: GrantIndex,
        counts: FormCounts,
        now: Timestamp,
        next: u64,
        figures: Figures,
    }

    impl Replay {
        fn new(setting: Setting) -> Replay {
            Replay {
                setting,
                memories: HashMap::new(),
                index: GrantIndex::default(),
                counts: FormCounts::default(),
                now: Timestamp(1_000_000_000),
                next: 0,
                figures: Figures::default(),
            }
        }

        fn give(&mut self, shape: GrantShape, agent: &str, session: Option<&str>, lasts: Millis) {
            self.next += 1;
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&self.next.to_be_bytes());
            self.index.add(Grant {
                id: Id::from_bytes(bytes),
                shape,
                agent: Some(agent.to_owned()),
                session: session.map(ToOwned::to_owned),
                made_by: "ana".to_owned(),
                made_at: self.now,
                expires: Some(self.now.plus(lasts)),
                uses_left: None,
                revoked: None,
                details: GrantDetails::default(),
            });
        }

        /// One call, about a minute after the last.
        fn call(&mut self, recorded: &Recorded) {
            self.now = self.now.plus(Millis::from_seconds(60));
            let mut memory = self.memories.remove(&recorded.session).unwrap_or_default();
            let trace = {
                let value = countersign_json::parse(&recorded.text).unwrap();
                let mut call = Call::from_json(&value).unwrap();
                call.context.session = Some(&memory);
                let seen = assess(&call, &Policy::default());
                let digest = digest(&call, b"");
                let runs = self.decide(&call, &seen, &digest, recorded);
                runs.then_some(seen.trace)
            };
            if let Some(trace) = trace {
                memory.add(&trace);
            }
            self.memories.insert(recorded.session.clone(), memory);
        }

        /// Whether the call runs.
        fn decide(
            &mut self,
            call: &Call<'_>,
            seen: &Assessment,
            digest: &CallDigest,
            recorded: &Recorded,
        ) -> bool {
            if recorded.attack {
                self.figures.attacks[0] += 1;
            }
            if seen.verdict == Verdict::Allow {
                self.figures.attacks[1] += u64::from(recorded.attack);
                return true;
            }
            let asked = GrantQuery {
                agent: &recorded.agent,
                session: &recorded.session,
                repository: recorded.project.as_deref(),
                cwd: call.context.cwd,
                environment: call.context.environment,
                own_addresses: &[],
                digest,
                arguments: &call.arguments,
                assessment: seen,
                crisis: false,
            };
            let now = Moment::reliable(self.now);
            if !self.index.covering(&asked, now, |_| true).is_empty() {
                self.figures.covered += 1;
                if recorded.attack {
                    self.figures.attacks[2] += 1;
                    self.figures.passed.push(recorded.text.clone());
                }
                return true;
            }
            self.ask(call, seen, digest, recorded)
        }

        /// The person answers: attacks and CRITICAL calls are denied.
        fn ask(
            &mut self,
            call: &Call<'_>,
            seen: &Assessment,
            digest: &CallDigest,
            recorded: &Recorded,
        ) -> bool {
            let denied = recorded.attack || seen.tier == Tier::Critical && !recorded.wanted;
            if !recorded.attack {
                *self.figures.questions.entry(recorded.session.clone()).or_default() += 1;
                let cause = seen.reasons.first().map_or("none", |reason| &reason.code);
                *self.figures.causes.entry(cause.to_owned()).or_default() += 1;
                self.figures.reviewable += u64::from(is_reviewable(call, seen, recorded));
                self.figures.placeless += u64::from(call.context.cwd.is_none());
                if std::env::var_os("SHOW_QUESTIONS").is_some() {
                    println!("{} {} {}", seen.tier.label(), recorded.session, recorded.text);
                }
            }
            let mut question = SessionQuestion::new(seen, digest);
            if let Some(folder) = &recorded.project {
                question = question.in_repository(seen, folder.clone());
            }
            if denied {
                let session = &recorded.session;
                self.index.retain(|grant| match &grant.shape {
                    GrantShape::SameQuestion { keys } => {
                        grant.session.as_ref() != Some(session)
                            || !keys.iter().any(|key| question.covered_by.contains(key))
                    }
                    GrantShape::SameProgram { repository, keys } => {
                        Some(repository) != recorded.project.as_ref()
                            || !keys.iter().any(|key| question.covered_by.contains(key))
                    }
                    _ => true,
                });
            } else {
                self.answer(seen, &question, recorded);
            }
            let card = Card::new(call, seen, digest);
            if let Some(shown) = ShownCommand::new(&card) {
                if self.setting >= Setting::Forms && !denied {
                    self.give_form(&shown, recorded);
                }
                if self.setting >= Setting::Learning {
                    self.learn(&shown, recorded, denied);
                }
            }
            if self.setting == Setting::Tools && !denied {
                self.give_tool(seen, recorded);
            }
            !denied
        }

        /// Gives a grant for a tool whose name says that it creates or changes data of a service.
        fn give_tool(&mut self, seen: &Assessment, recorded: &Recorded) {
            let by_name = seen.reasons.iter().any(|reason| reason.code == "tool.verb.write");
            if by_name && seen.tier == Tier::Medium {
                self.figures.forms += 1;
                let shape = GrantShape::Action { tool: seen.tool.clone() };
                let month = Millis::from_seconds(30 * 86_400);
                self.give(shape, &recorded.agent, None, month);
            }
        }

        /// Approves for as long as the card offers; HIGH for the session at most.
        fn answer(&mut self, seen: &Assessment, question: &SessionQuestion, recorded: &Recorded) {
            let (agent, session) = (recorded.agent.clone(), recorded.session.clone());
            if question.is_answerable() {
                let keys = question.answers.clone();
                let shape = GrantShape::SameQuestion { keys };
                self.give(shape, &agent, Some(&session), SESSION_ANSWER_LASTS);
            }
            let repository = question.repository.as_ref().filter(|found| !found.answers.is_empty());
            if let Some(found) = repository
                && self.setting != Setting::Session
                && seen.tier <= Tier::Medium
                && question.answerable_repository().is_some()
            {
                let (repository, keys) = (found.folder.clone(), found.answers.clone());
                let shape = GrantShape::SameProgram { repository, keys };
                self.give(shape, &agent, None, REPOSITORY_ANSWER_LASTS);
            }
        }

        /// Gives a grant for the widest form that the card offers.
        fn give_form(&mut self, shown: &ShownCommand, recorded: &Recorded) {
            let repository = recorded.project.clone();
            let pattern = CommandPattern::generalize(&shown.command, repository.as_deref())
                .or_else(|| CommandPattern::exactly(&shown.command));
            let shape = pattern.and_then(|one| CommandShape::new(shown, one, repository).ok());
            if let Some(shape) = shape {
                self.figures.forms += 1;
                let month = Millis::from_seconds(30 * 86_400);
                self.give(GrantShape::Command(Box::new(shape)), &recorded.agent, None, month);
            }
        }

        fn learn(&mut self, shown: &ShownCommand, recorded: &Recorded, denied: bool) {
            let repository = recorded.project.as_deref();
            let answer = if denied { RepeatedAnswer::Denied } else { RepeatedAnswer::Approved };
            self.counts.note(&AnsweredCommand {
                agent: &recorded.agent,
                repository,
                call: shown,
                crisis: false,
                answer,
            });
            let form = CommandForm::new(&recorded.agent, repository, shown);
            let Some(form) = form else { return };
            if denied {
                let agent = recorded.agent.clone();
                self.index.retain(|grant| match &grant.shape {
                    GrantShape::Command(shape) => {
                        CommandForm::of_shape(&agent, shape).as_ref() != Some(&form)
                    }
                    _ => true,
                });
                return;
            }
            let found = self.counts.get(&form).filter(|one| one.approvals >= DEFAULT_APPROVALS);
            if let Some(shape) = found.and_then(|one| one.listed_shape(&form)) {
                self.figures.learned += 1;
                let week = Millis::from_seconds(7 * 86_400);
                self.give(
                    GrantShape::Command(Box::new(shape)),
                    &recorded.agent.clone(),
                    None,
                    week,
                );
            }
        }
    }

    /// Whether the call may run first with the widest settings of the review lane: it changes known
    /// files of the project and nothing else.
    fn is_reviewable(call: &Call<'_>, seen: &Assessment, recorded: &Recorded) -> bool {
        const CHANGES: Effects = Effects::of(&[Effect::Read, Effect::Write, Effect::Delete]);
        let Some(project) = &recorded.project else { return false };
        let is_inside = |file: &ChangedFile| {
            let place = file.place(|_| false).unwrap_or_default();
            place.strip_prefix(project.as_str()).is_some_and(|rest| {
                rest.starts_with('/') && !rest.contains("/.") && !rest.contains("..")
            })
        };
        let changed = file_changes(call, seen).filter(|changed| !changed.is_empty());
        seen.tier <= Tier::Medium
            && seen.effects.without(CHANGES).is_empty()
            && changed.is_some_and(|changed| changed.iter().all(is_inside))
    }

    fn run(calls: &[Recorded], setting: Setting) -> Figures {
        let mut replay = Replay::new(setting);
        for recorded in calls {
            replay.call(recorded);
        }
        replay.figures
    }

    #[test]
    fn grants_and_learning_leave_fewer_questions_and_let_no_attack_pass() {
        let Some(folder) = std::env::var_os("COUNTERSIGN_SESSIONS") else {
            skip(Cause::Machine, "COUNTERSIGN_SESSIONS names no folder with recorded sessions");
            return;
        };
        let folder = Path::new(&folder);
        let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
        for every in [0, 10] {
            let calls = calls(folder, every, seed);
            let sessions: HashSet<&str> = calls.iter().map(|call| call.session.as_str()).collect();
            println!("{} calls of {} sessions", calls.len(), sessions.len());
            let mut first = None;
            for (name, setting) in [
                ("answers for the session", Setting::Session),
                ("and for the repository", Setting::Repository),
                ("and grants for forms", Setting::Forms),
                ("and learned grants", Setting::Learning),
                ("and grants for service tools", Setting::Tools),
            ] {
                let figures = run(&calls, setting);
                let questions: u64 = figures.questions.values().sum();
                let [attacks, unasked, covered] = figures.attacks;
                println!(
                    "{name}: {questions} questions, {:.2} a session; {} calls covered, {} forms \
                     given, {} learned; attacks: {attacks}, {unasked} pass unasked, {covered} by a \
                     grant",
                    f64::from(u32::try_from(questions).unwrap())
                        / f64::from(u32::try_from(sessions.len()).unwrap()),
                    figures.covered,
                    figures.forms,
                    figures.learned,
                );
                if every == 0 && setting == Setting::Tools {
                    println!(
                        "of these, {} without a working directory, {} could be reviewed afterwards",
                        figures.placeless, figures.reviewable
                    );
                    let mut causes: Vec<_> = figures.causes.iter().collect();
                    causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
                    for (cause, count) in causes {
                        println!("  {count:4} {cause}");
                    }
                }
                let first = *first.get_or_insert(questions);
                assert!(questions <= first, "more questions with more grants");
                assert_eq!(covered, 0, "{:?}", figures.passed);
            }
        }
    }
}
