//! Grants: standing permissions given by a person, and what they can never cover.

mod answers;
mod argument;
mod budget;
mod command;
mod decimal;
mod details;
mod index;
mod members;
mod part;
mod pattern;
mod profile;
mod recipients;
mod tool_call;
mod words;

use std::fmt;

use serde::Serialize;

use countersign_json::Value;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::assess::Assessment;
use countersign_risk::context::Environment;
use countersign_risk::effect::Effect;
use countersign_risk::tools;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Moment, Timestamp};

pub use answers::covering_answers;
pub use argument::{ArgumentConstraint, ArgumentRule};
pub use budget::{BudgetUsed, GrantBudget, GrantCost, SpendLimit};
pub use command::{CommandShape, MAX_COMMANDS, ShapeError, ShownCommand};
pub use decimal::PlainDecimal;
pub use details::GrantDetails;
pub use index::GrantIndex;
pub use members::{is_command_shape, plain_command};
pub use part::{PART_LASTS, PartShape};
pub use pattern::{CommandPattern, PatternHole, PatternPlace};
pub use profile::CallProfile;
pub use tool_call::{ShownToolCall, ToolCallShape, example_arguments};

/// How long an approval for the session lasts at most.
pub const SESSION_ANSWER_LASTS: Millis = Millis::from_seconds(12 * 60 * 60);

/// How long an approval for the repository lasts at most, used or not.
pub const REPOSITORY_ANSWER_LASTS: Millis = Millis::from_seconds(90 * 24 * 60 * 60);

/// Which calls a grant covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum GrantShape {
    /// This exact call.
    Exact {
        /// Its digests.
        digest: CallDigest,
    },
    /// Every call of this tool below HIGH. Never covers a tool that runs commands or code.
    Action {
        /// The tool's name.
        tool: String,
    },
    /// Calls of this tool whose recipients are all in `targets`. For a tool that runs commands:
    /// commands below HIGH that begin with the words of one of the targets.
    Targets {
        /// The tool's name.
        tool: String,
        /// Permitted recipients, or permitted commands.
        targets: Vec<String>,
    },
    /// Calls of this tool that reach only the confirmed addresses of the agent's own user
    /// (`self_only`).
    ToSelf {
        /// The tool's name.
        tool: String,
    },
    /// Commands of one form that do no more than an approved call did.
    Command(Box<CommandShape>),
    /// Calls of a tool whose arguments fulfil conditions, up to MEDIUM.
    ToolCall(Box<ToolCallShape>),
    /// A part of a compound command that was not approved as a whole: alone, or for the rest of
    /// the session.
    Part(Box<PartShape>),
    /// Calls that ask only about what a person approved for the rest of the session. Its id is
    /// that of the approved request. Several of them may cover a call together, see
    /// [`covering_answers`].
    SameQuestion {
        /// The keys of what was approved.
        keys: Vec<Digest>,
    },
    /// The same for all sessions of the agent in a repository.
    SameProgram {
        /// The repository's folder.
        repository: String,
        /// The keys of what was approved.
        keys: Vec<Digest>,
    },
}

impl GrantShape {
    /// Whether it is an approval for the session or the repository, which rests on its request.
    pub fn is_answer(&self) -> bool {
        matches!(self, GrantShape::SameQuestion { .. } | GrantShape::SameProgram { .. })
    }
}

/// A standing permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Its id, recorded in every decision that rests on it.
    pub id: Id,
    /// Which calls it covers.
    #[serde(flatten)]
    pub shape: GrantShape,
    /// Only for this agent, if named.
    pub agent: Option<String>,
    /// Only in this session, if named.
    pub session: Option<String>,
    /// Who gave it.
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// When it expires. Grants for a session expire too.
    pub expires: Option<Timestamp>,
    /// How many calls it may still cover, if limited.
    pub uses_left: Option<u32>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// Its text, its limits and its last use.
    #[serde(flatten)]
    pub details: GrantDetails,
}

/// A call to check against a grant.
#[derive(Debug, Clone, Copy)]
pub struct GrantQuery<'a> {
    /// The agent as authenticated.
    pub agent: &'a str,
    /// Its session.
    pub session: &'a str,
    /// The folder of the repository that it runs in, as the daemon found it.
    pub repository: Option<&'a str>,
    /// The working directory, as the caller named it.
    pub cwd: Option<&'a str>,
    /// The kind of machine, as the caller named it.
    pub environment: Environment,
    /// Addresses that people confirmed to belong to the agent's user.
    pub own_addresses: &'a [String],
    /// Its digests.
    pub digest: &'a CallDigest,
    /// Its arguments.
    pub arguments: &'a Value<'a>,
    /// Its assessment.
    pub assessment: &'a Assessment,
    /// Whether its session is in a crisis.
    pub crisis: bool,
}

impl GrantQuery<'_> {
    /// Whether a policy rule denies the call, or wants a person to decide each time.
    fn is_decided_by_policy(&self) -> bool {
        let ruling = self.assessment.policy.as_ref();
        ruling.is_some_and(|ruling| ruling.denies() || ruling.needs_person())
    }
}

/// Why a grant does not cover a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCovered {
    /// No grant covers a crisis.
    Crisis,
    /// No grant covers CRITICAL.
    Critical,
    /// A policy rule denies the call, or wants a person to decide each time.
    PolicyDecides,
    /// A grant by tool name covers nothing from HIGH up.
    TierTooHigh,
    /// A tool that runs commands is covered by naming commands, never as a whole.
    RunsPrograms,
    /// The call moves money, and the grant has no budget for it.
    MovesMoney,
    /// The call costs more than the whole budget, or its cost is not known.
    UnknownCost,
    /// It covers other calls.
    OtherCall,
    /// It is for another agent or session.
    OtherRequester,
    /// It was revoked, has expired, or is used up.
    Inactive,
    /// The system clock is unreliable, so the expiry cannot be checked.
    ClockUnreliable,
}

impl Grant {
    /// Whether it can be used at this time.
    pub fn is_active(&self, now: Timestamp) -> bool {
        let over = self.expires.is_some_and(|end| now >= end);
        self.revoked.is_none() && !over && self.uses_left != Some(0)
    }

    /// Whether it covers a call now. The error says why not.
    pub fn covers(&self, asked: &GrantQuery<'_>, now: Moment) -> Result<(), NotCovered> {
        let seen = asked.assessment;
        if asked.crisis || seen.crisis_sensitive {
            return Err(NotCovered::Crisis);
        }
        if seen.tier == Tier::Critical && !self.may_cover_critical() {
            return Err(NotCovered::Critical);
        }
        if asked.is_decided_by_policy() {
            return Err(NotCovered::PolicyDecides);
        }
        if !now.reliable {
            return Err(NotCovered::ClockUnreliable);
        }
        if !self.is_active(now.at) {
            return Err(NotCovered::Inactive);
        }
        let same = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        if !same(&self.agent, asked.agent) || !same(&self.session, asked.session) {
            return Err(NotCovered::OtherRequester);
        }
        self.matches_call(asked)?;
        self.cost(asked).map(drop)
    }

    fn matches_call(&self, asked: &GrantQuery<'_>) -> Result<(), NotCovered> {
        let seen = asked.assessment;
        if let GrantShape::Targets { tool, .. } | GrantShape::ToSelf { tool } = &self.shape
            && *tool == seen.tool
            && seen.effects.has(Effect::Money)
        {
            return Err(NotCovered::MovesMoney);
        }
        let fits = match &self.shape {
            GrantShape::Exact { digest } => digest.binds(asked.digest),
            GrantShape::Action { tool } => covers_tool(tool, asked)?,
            GrantShape::Targets { tool, targets }
                if tools::runs_programs(tool, asked.arguments) =>
            {
                // What a script says may be another text the next time.
                *tool == seen.tool
                    && seen.tier < Tier::High
                    && !seen.trace.runs_scripts()
                    && members::is_plain_command(tool, asked.arguments, targets)
            }
            GrantShape::Targets { tool, targets } => {
                *tool == seen.tool && reaches_only(asked, targets, same_target)
            }
            GrantShape::Command(shape) => {
                // As above.
                !seen.trace.runs_scripts() && shape.covers(asked)
            }
            GrantShape::ToolCall(shape) => {
                shape.covers(asked)?;
                let budget = self.details.budget.as_ref();
                if moves_money(seen) && budget.is_none_or(|budget| budget.spend.is_none()) {
                    return Err(NotCovered::MovesMoney);
                }
                true
            }
            GrantShape::Part(part) => part.covers(asked),
            GrantShape::SameQuestion { .. } | GrantShape::SameProgram { .. } => false,
            GrantShape::ToSelf { tool } => {
                *tool == seen.tool && reaches_only(asked, asked.own_addresses, same_address)
            }
        };
        if fits { Ok(()) } else { Err(NotCovered::OtherCall) }
    }
}

/// Whether a grant for all calls of a tool covers this one.
fn covers_tool(tool: &str, asked: &GrantQuery<'_>) -> Result<bool, NotCovered> {
    let seen = asked.assessment;
    if tool != seen.tool {
        Ok(false)
    } else if seen.tier >= Tier::High {
        Err(NotCovered::TierTooHigh)
    } else if tools::runs_programs(tool, asked.arguments) {
        Err(NotCovered::RunsPrograms)
    } else if seen.effects.has(Effect::Money) {
        Err(NotCovered::MovesMoney)
    } else {
        Ok(true)
    }
}

/// Whether a call moves money, or names an amount of it.
fn moves_money(seen: &Assessment) -> bool {
    seen.effects.has(Effect::Money) || !seen.impact.money.is_empty()
}

/// Whether a call names recipients, all of them are known and in the list, and nothing but the
/// message accompanies them.
fn reaches_only(asked: &GrantQuery<'_>, list: &[String], same: fn(&str, &str) -> bool) -> bool {
    let reached = &asked.assessment.impact.recipients;
    // The assessment lists only the first recipients: a recipient that is not listed is not
    // covered.
    let all_known = usize::try_from(reached.count) == Ok(reached.listed.len());
    let on_list = |recipient: &String| list.iter().any(|known| same(known, recipient));
    let is_listed = |text: &str| list.iter().any(|known| same(known, text));
    !reached.is_empty()
        && all_known
        && reached.listed.iter().all(on_list)
        && members::is_plain_message(asked.arguments, is_listed)
}

fn same_target(known: &str, found: &str) -> bool {
    known == found
}

/// Addresses are compared without case.
fn same_address(known: &str, found: &str) -> bool {
    known.eq_ignore_ascii_case(found)
}

impl fmt::Display for NotCovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotCovered::Crisis => "no grant covers a call in a crisis",
            NotCovered::Critical => "no grant covers a CRITICAL call",
            NotCovered::PolicyDecides => "a policy rule denies the call or asks each time",
            NotCovered::TierTooHigh => "a grant by tool name covers nothing from HIGH up",
            NotCovered::RunsPrograms => {
                "a grant for all calls does not cover a tool that runs commands"
            }
            NotCovered::MovesMoney => "the call moves money, and the grant has no budget for it",
            NotCovered::UnknownCost => {
                "the call costs more than the budget of the grant, or its cost is not known"
            }
            NotCovered::OtherCall => "the grant covers other calls",
            NotCovered::OtherRequester => "the grant is for another agent or session",
            NotCovered::Inactive => "the grant was revoked, has expired or is used up",
            NotCovered::ClockUnreliable => "the system clock went back, so no grant is used",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_json as json;
    use countersign_risk::assess::assess;
    use countersign_risk::call::Call;
    use countersign_risk::call_digest::digest;
    use countersign_risk::verdict::Policy;

    const NOW: Moment = Moment::reliable(Timestamp(1_000_000));

    fn grant(shape: GrantShape) -> Grant {
        Grant {
            id: Id::from_bytes([1; 16]),
            shape,
            agent: None,
            session: None,
            made_by: "ana".to_owned(),
            made_at: Timestamp(0),
            expires: Some(Timestamp(2_000_000)),
            uses_left: None,
            revoked: None,
            details: GrantDetails::default(),
        }
    }

    fn covers(grant: &Grant, call: &str, crisis: bool) -> Result<(), NotCovered> {
        let value = json::parse(call).unwrap();
        let call = Call::from_json(&value).unwrap();
        let assessment = assess(&call, &Policy::default());
        let digest = digest(&call, b"");
        let own_addresses = ["ana@example.org".to_owned()];
        let asked = GrantQuery {
            agent: "claude",
            session: "s1",
            repository: None,
            cwd: None,
            environment: Environment::default(),
            own_addresses: &own_addresses,
            digest: &digest,
            arguments: &call.arguments,
            assessment: &assessment,
            crisis,
        };
        grant.covers(&asked, NOW)
    }

    fn named(tool: &str) -> Grant {
        grant(GrantShape::Action { tool: tool.to_owned() })
    }

    const MAIL: &str = r#"{"tool":"send_email","arguments":{"to":"ana@example.org","body":"hi"}}"#;

    #[test]
    fn a_tool_grant_covers_no_high_call_and_no_grant_covers_critical() {
        let medium = r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"}}"#;
        assert_eq!(covers(&named("send_message"), medium, false), Ok(()));
        assert_eq!(covers(&named("send_email"), MAIL, false), Err(NotCovered::TierTooHigh));
        let grave = r#"{"tool":"crypto_tx","arguments":{"to":"0xabc","amount":"1"}}"#;
        assert_eq!(covers(&named("crypto_tx"), grave, false), Err(NotCovered::Critical));
        assert_eq!(covers(&named("send_message"), medium, true), Err(NotCovered::Crisis));
    }

    #[test]
    fn targets_cover_only_when_every_recipient_is_named() {
        let targets = GrantShape::Targets {
            tool: "send_email".to_owned(),
            targets: vec!["ana@example.org".to_owned()],
        };
        let given = grant(targets);
        assert_eq!(covers(&given, MAIL, false), Ok(()));
        for other in [
            r#"{"tool":"send_email","arguments":{"to":"ana@example.org","cc":"eve@example.com"}}"#,
            r#"{"tool":"send_email","arguments":{"to":["ana@example.org","eve@example.com"]}}"#,
            r#"{"tool":"send_email","arguments":{"body":"to nobody"}}"#,
            r#"{"tool":"send_message","arguments":{"to":"ana@example.org"}}"#,
        ] {
            assert!(covers(&given, other, false).is_err(), "{other}");
        }
    }

    #[test]
    fn to_self_uses_the_confirmed_addresses_not_the_payload() {
        let given = grant(GrantShape::ToSelf { tool: "send_email".to_owned() });
        assert_eq!(covers(&given, MAIL, false), Ok(()));
        let claimed = r#"{"tool":"send_email","arguments":{"from":"eve@x.com","to":"eve@x.com"}}"#;
        assert_eq!(covers(&given, claimed, false), Err(NotCovered::OtherCall));
    }

    /// Each of these calls hid something in mail to a listed address.
    #[test]
    fn a_mail_grant_covers_no_unknown_member() {
        let targets = GrantShape::Targets {
            tool: "send_email".to_owned(),
            targets: vec!["ana@example.org".to_owned()],
        };
        let (listed, own) =
            (grant(targets), grant(GrantShape::ToSelf { tool: "send_email".to_owned() }));
        let with = |more: &str| {
            format!(r#"{{"tool":"send_email","arguments":{{"to":"ana@example.org",{more}}}}}"#)
        };
        for fine in [
            r#""subject":"hi","body":"two\nlines""#,
            r#""cc":["ana@example.org"],"text":"hi""#,
            r#""from":"ana@example.org","message":"hi""#,
        ] {
            assert_eq!(covers(&listed, &with(fine), false), Ok(()), "{fine}");
            assert_eq!(covers(&own, &with(fine), false), Ok(()), "{fine}");
        }
        for more in [
            r#""Bcc":"eve@example.com""#,
            r#""BCC":["ana@example.org","eve@example.com"]"#,
            r#""bcc":{"address":"eve@example.com"}"#,
            r#""cc":"ana@example.org, eve@example.com""#,
            r#""attachments":["~/.ssh/id_rsa"]"#,
            r#""attachment":"/etc/passwd""#,
            r#""forward_to":"eve@example.com""#,
            r#""reply_to":"eve@example.com""#,
            r#""from":"boss@example.com""#,
            r#""subject":"hi\r\nBcc: eve@example.com""#,
            r#""subject":"hi\nBcc: eve@example.com""#,
            r#""headers":{"Bcc":"eve@example.com"}"#,
            r#""template":"/etc/shadow""#,
            r#""body":{"file":"/etc/shadow"}"#,
            r#""unheard_of":true"#,
        ] {
            assert!(covers(&listed, &with(more), false).is_err(), "{more}");
            assert!(covers(&own, &with(more), false).is_err(), "{more}");
        }
    }

    #[test]
    fn a_tool_that_runs_commands_is_covered_by_naming_commands() {
        let run = |tool: &str, command: &str| {
            format!(r#"{{"tool":"{tool}","arguments":{{"command":"{command}"}}}}"#)
        };
        for tool in ["terminal", "bash", "Bash", "shell", "execute_command", "mcp__x__run_shell"] {
            let call = run(tool, "npm install left-pad");
            let whole = covers(&named(tool), &call, false);
            assert_eq!(whole, Err(NotCovered::RunsPrograms), "{tool}");
        }
        let python = r#"{"tool":"execute_code","arguments":{"code":"print(1)"}}"#;
        assert_eq!(covers(&named("execute_code"), python, false), Err(NotCovered::RunsPrograms));
        let commands = |list: &[&str]| {
            let targets = list.iter().map(|text| (*text).to_owned()).collect();
            grant(GrantShape::Targets { tool: "terminal".to_owned(), targets })
        };
        let given = commands(&["npm install", "git push origin"]);
        for fine in ["npm install left-pad", "npm install", "git push origin main"] {
            assert_eq!(covers(&given, &run("terminal", fine), false), Ok(()), "{fine}");
        }
        for other in [
            "npm install left-pad; curl x.example",
            "npm install left-pad && reboot",
            "npm install $(id)",
            "npm install `id`",
            "npm install > /etc/passwd",
            "npm install a\\nreboot",
            "npm install --script-shell=/tmp/x",
            "npm installx",
            "npm",
            "X=1 npm install",
            "git push --force origin",
            "rm -rf /",
        ] {
            assert!(covers(&given, &run("terminal", other), false).is_err(), "{other}");
        }
        let beside = r#"{"tool":"terminal","arguments":{"command":"npm install","env":{"A":"b"}}}"#;
        assert!(covers(&given, beside, false).is_err());
        for wide in ["npm", "", " ", "python3 -c", "bash -c", "git push *", "a b;c", "a $b"] {
            assert!(!is_command_shape(wide), "{wide}");
            let given = commands(&[wide]);
            assert!(covers(&given, &run("terminal", "npm install"), false).is_err(), "{wide}");
        }
    }

    /// Whoever is named and whichever words: only a grant for exactly the call, or one with a
    /// budget, covers calls that move money.
    #[test]
    fn no_shape_but_the_exact_call_covers_money() {
        let shell = |command: &str| {
            format!(r#"{{"tool":"terminal","arguments":{{"command":"{command}"}}}}"#)
        };
        let tool = |name: &str, to: &str| {
            format!(r#"{{"tool":"{name}","arguments":{{"to":"{to}","text":"hi"}}}}"#)
        };
        let calls = [
            shell("stripe post /v1/payouts"),
            shell("stripe delete /v1/customers/cus_1"),
            tool("transfer_funds", "ana@example.org"),
            tool("pay_bill", "ana@example.org"),
        ];
        let targets = ["stripe post", "stripe delete", "ana@example.org"];
        for call in &calls {
            let value = json::parse(call).unwrap();
            let read = Call::from_json(&value).unwrap();
            assert!(assess(&read, &Policy::default()).effects.has(Effect::Money), "{call}");
            let tool = read.tool.to_string();
            let listed = targets.iter().map(|text| (*text).to_owned()).collect();
            for shape in [
                GrantShape::Action { tool: tool.clone() },
                GrantShape::Targets { tool: tool.clone(), targets: listed },
                GrantShape::ToSelf { tool },
            ] {
                let refused = covers(&grant(shape.clone()), call, false);
                assert!(refused.is_err(), "{shape:?} covers {call}");
                if !matches!(shape, GrantShape::Action { .. }) {
                    assert_eq!(refused, Err(NotCovered::MovesMoney), "{shape:?}: {call}");
                }
            }
            let exact = GrantShape::Exact { digest: digest(&read, b"") };
            assert_eq!(covers(&grant(exact), call, false), Ok(()), "{call}");
        }
    }

    #[test]
    fn a_grant_ends_by_time_use_or_revocation_and_is_for_one_agent() {
        let medium = r#"{"tool":"send_message","arguments":{"to":"bo","text":"hi"}}"#;
        let over = [
            Grant { expires: Some(Timestamp(1_000_000)), ..named("send_message") },
            Grant { uses_left: Some(0), ..named("send_message") },
            Grant { revoked: Some(Timestamp(5)), ..named("send_message") },
        ];
        for grant in over {
            assert_eq!(covers(&grant, medium, false), Err(NotCovered::Inactive));
        }
        let other = Grant { agent: Some("codex".to_owned()), ..named("send_message") };
        assert_eq!(covers(&other, medium, false), Err(NotCovered::OtherRequester));
        let other = Grant { session: Some("s2".to_owned()), ..named("send_message") };
        assert_eq!(covers(&other, medium, false), Err(NotCovered::OtherRequester));
    }
}
