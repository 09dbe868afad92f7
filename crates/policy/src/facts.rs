//! What rules see of a call: names and numbers from its assessment, never its text.

use std::collections::BTreeSet;

use countersign_risk::assess::Assessment;
use countersign_risk::call::Call;
use countersign_risk::effect::Effect;
use countersign_risk::finding::Doubt;
use countersign_risk::impact::CountedList;
use countersign_risk::paths;
use countersign_risk::tools;
use countersign_workflow::grant::plain_command;

use crate::names;

type Names = BTreeSet<String>;

/// When a call is made, in the time zone of the people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallTime {
    /// 0 to 23.
    pub hour: u8,
    /// Days since Monday, 0 to 6.
    pub weekday: u8,
}

impl CallTime {
    /// Names of the days, as rules write them.
    pub const DAYS: [&'static str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

    /// The name of the day.
    pub fn day(self) -> &'static str {
        Self::DAYS.get(usize::from(self.weekday)).copied().unwrap_or("monday")
    }
}

impl Default for CallTime {
    fn default() -> CallTime {
        CallTime { hour: 12, weekday: 0 }
    }
}

/// The facts of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PolicyFacts {
    /// The authenticated agent.
    pub agent: String,
    /// The tool as the agent named it.
    pub tool: String,
    /// Its name in lower case, also without the name of its MCP server.
    pub tool_names: Names,
    /// The agent program.
    pub host: String,
    /// The session, as the agent named it.
    pub session: String,
    /// The project's folder, as the agent named it.
    pub project: String,
    /// Workstation, production, ci or container.
    pub environment: String,
    /// 0 SAFE to 4 CRITICAL.
    pub tier: u8,
    /// Points in hundredths.
    pub points: u16,
    /// Confidence in hundredths.
    pub confidence: u8,
    /// Whether ordinary means undo it.
    pub reversible: bool,
    /// Whether the crisis rules hold for it.
    pub crisis: bool,
    /// Whether it runs programs, code or other tools that its arguments spell out.
    pub runs_programs: bool,
    /// Its effects.
    pub effects: Names,
    /// The codes of its findings.
    pub findings: Names,
    /// Every command that runs, as rules may name it to deny it.
    pub commands: Names,
    /// The known first words of commands that are not known to the end.
    pub open_commands: Names,
    /// The only command, as rules may name it to allow it; empty unless it is one plain command.
    pub command: Names,
    /// The only command as a whole.
    pub exact_command: String,
    /// Paths that are written, deleted or read as secrets, with all folders above them.
    pub paths: Names,
    /// Folders that all of these paths are in.
    pub paths_within: Names,
    /// The classes of these paths.
    pub path_classes: Names,
    /// Hosts, with their domains.
    pub hosts: Names,
    /// Domains that all of these hosts belong to.
    pub hosts_within: Names,
    /// Recipients, with the domains of their addresses.
    pub recipients: Names,
    /// Names that all recipients have.
    pub recipients_within: Names,
    /// Lists of which a part is not known: commands, paths, hosts, recipients.
    pub unclear: Names,
    /// 0 to 23.
    pub hour: u8,
    /// Monday to sunday.
    pub weekday: &'static str,
}

impl PolicyFacts {
    /// The facts of an assessed call. `crisis`: whether the session is in a crisis.
    pub fn new(call: &Call<'_>, seen: &Assessment, crisis: bool, time: CallTime) -> PolicyFacts {
        let cwd = call.context.cwd;
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut facts = PolicyFacts {
            agent: text(call.agent.as_deref()),
            tool: call.tool.clone().into_owned(),
            tool_names: tool_names(&call.tool),
            host: text(call.context.host),
            session: text(call.session.as_deref()),
            project: text(call.context.project),
            environment: call.context.environment.label().to_owned(),
            tier: tier_number(seen),
            points: seen.points.0,
            confidence: hundredths(seen.confidence),
            reversible: seen.reversible,
            crisis: crisis || seen.crisis_sensitive,
            runs_programs: tools::runs_programs(&call.tool, &call.arguments),
            effects: seen
                .effects
                .iter()
                .map(|effect| names::effect_name(effect).to_owned())
                .collect(),
            findings: seen.reasons.iter().map(|reason| reason.code.to_string()).collect(),
            hour: time.hour,
            weekday: time.day(),
            ..PolicyFacts::default()
        };
        facts.add_commands(call, seen);
        facts.add_paths(seen, cwd);
        facts.add_hosts(seen);
        let recipients = Listed::of([&seen.impact.recipients], names::recipient_and_domain);
        (facts.recipients, facts.recipients_within) = (recipients.all, recipients.within);
        facts.note_unclear("recipients", recipients.unclear);
        facts
    }

    /// The facts that are lists, by name.
    pub fn lists(&self) -> [(&'static str, &BTreeSet<String>); 14] {
        [
            ("tool_names", &self.tool_names),
            ("effects", &self.effects),
            ("findings", &self.findings),
            ("commands", &self.commands),
            ("open_commands", &self.open_commands),
            ("command", &self.command),
            ("paths", &self.paths),
            ("paths_within", &self.paths_within),
            ("path_classes", &self.path_classes),
            ("hosts", &self.hosts),
            ("hosts_within", &self.hosts_within),
            ("recipients", &self.recipients),
            ("recipients_within", &self.recipients_within),
            ("unclear", &self.unclear),
        ]
    }

    fn add_commands(&mut self, call: &Call<'_>, seen: &Assessment) {
        for command in &seen.commands {
            let all = names::command_names(command);
            if command.is_open {
                self.open_commands.extend(all.iter().cloned());
            }
            self.commands.extend(all);
        }
        if let Some(text) = plain_command(&call.tool, &call.arguments) {
            self.command = names::allowed_names(text);
            self.exact_command = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        }
        let doubts = [Doubt::DynamicProgram, Doubt::Unreadable];
        let dynamic = doubts.iter().any(|doubt| seen.doubts.contains(doubt));
        self.note_unclear("commands", dynamic || seen.commands.is_cut());
    }

    fn add_paths(&mut self, seen: &Assessment, cwd: Option<&str>) {
        let lists = [&seen.impact.writes, &seen.impact.deletes, &seen.impact.secrets];
        let found = Listed::of(lists, |path| names::path_and_above(path, cwd));
        let listed = lists.into_iter().flat_map(|list| &list.listed);
        self.path_classes = listed.map(|path| paths::class_of(path, cwd).id.to_owned()).collect();
        (self.paths, self.paths_within) = (found.all, found.within);
        self.note_unclear("paths", found.unclear);
    }

    fn add_hosts(&mut self, seen: &Assessment) {
        let found = Listed::of([&seen.impact.hosts], names::host_and_domains);
        let network = seen.effects.has_any(&[Effect::NetOut, Effect::NetIn]);
        let dynamic = network && seen.doubts.contains(&Doubt::DynamicArguments);
        (self.hosts, self.hosts_within) = (found.all, found.within);
        if dynamic {
            self.hosts_within.clear();
        }
        self.note_unclear("hosts", found.unclear || dynamic);
    }

    fn note_unclear(&mut self, list: &str, unclear: bool) {
        if unclear {
            self.unclear.insert(list.to_owned());
        }
    }
}

/// What was touched, as names.
struct Listed {
    /// The names of any entry.
    all: Names,
    /// The names that every entry has; empty where an entry is not known.
    within: Names,
    unclear: bool,
}

impl Listed {
    fn of<const N: usize>(
        lists: [&CountedList; N],
        names: impl Fn(&str) -> Option<Names>,
    ) -> Listed {
        let cut = |list: &&CountedList| usize::try_from(list.count) != Ok(list.listed.len());
        let mut found =
            Listed { all: Names::new(), within: Names::new(), unclear: lists.iter().any(cut) };
        let mut first = true;
        for entry in lists.into_iter().flat_map(|list| &list.listed) {
            match names(entry) {
                Some(set) if first => found.within.clone_from(&set),
                Some(ref set) => found.within.retain(|name| set.contains(name)),
                None => found.unclear = true,
            }
            first = false;
            found.all.extend(names(entry).into_iter().flatten());
        }
        if found.unclear {
            found.within.clear();
        }
        found
    }
}

/// A tool's name in lower case, and the same without the name of its MCP server.
fn tool_names(tool: &str) -> Names {
    let whole = tool.trim().to_lowercase();
    let inner = whole.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    let mut all: Names = inner.into_iter().map(|(_, name)| name.to_owned()).collect();
    let last = whole.rsplit(['.', '/', ':']).next().unwrap_or_default();
    all.insert(last.to_owned());
    all.insert(whole);
    all
}

fn tier_number(seen: &Assessment) -> u8 {
    u8::try_from(seen.tier.points().0 / 100).unwrap_or(u8::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a confidence is between 0 and 1"
)]
fn hundredths(confidence: f64) -> u8 {
    (confidence.clamp(0.0, 1.0) * 100.0).round() as u8
}
