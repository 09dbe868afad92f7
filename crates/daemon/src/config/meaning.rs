//! From what was written to what it means; every number has its bounds.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use countersign_crisis as crisis;
use countersign_crisis::Preset;
use countersign_json::canonical::Digest;
use countersign_risk::context::Environment;
use countersign_risk::rules;
use countersign_risk::verdict::{Mode, Policy, Thresholds};
use countersign_types::tier::Points;
use countersign_types::time::Span;
use countersign_workflow::assurance::{Assurance, Needs};
use countersign_workflow::request::{Profile, Times};

use super::channels::channels;
use super::paths::Paths;
use super::written::{self, Written};
use super::{Config, ConfigError, Drills, Duty, Flood, Ledger, Log};
use super::{QuorumByTier, Rules, Socket, duty};

const DAY: u32 = 86_400;
/// More in a week would be a burden of their own.
const MOST_DRILLS: u32 = 20;
/// A gate that is tried less than once in a week is as good as untried.
const MOST_HOURS: u32 = 7 * 24;

pub fn meaning(written: Written, paths: &Paths) -> Result<Config, ConfigError> {
    let doors = written.doors.clone();
    let store = match &written.store.path {
        Some(path) => absolute("store.path", path)?,
        None => paths.state.join("countersign.db"),
    };
    Ok(Config {
        agents: door("doors.agents", doors.agents.as_deref(), "127.0.0.1:6000")?,
        people: door("doors.people", doors.people.as_deref(), "127.0.0.1:6001")?,
        socket: socket(&doors, paths)?,
        hosts: doors.hosts,
        store,
        state: paths.state.clone(),
        strict: written.store.strict.unwrap_or(false),
        ledger: ledger(&written.ledger)?,
        prove_every: prove_every(&written.doctor)?,
        log: log(&written.log)?,
        rules: rules(written)?,
    })
}

fn rules(written: Written) -> Result<Rules, ConfigError> {
    let crisis = crisis(&written.crisis)?;
    let inbox = inbox(&written.doors)?;
    let duty = Duty::new(&written.ladder, written.quiet.as_ref(), &written.rota)?;
    let mut rules = Rules {
        mode: mode(written.mode.as_deref())?,
        judgement: judgement(&written.judgement)?,
        environment: environment(written.judgement.environment.as_deref())?,
        times: times(&written.times)?,
        quorum: quorum(&written.quorum)?,
        needs: needs(&written.assurance)?,
        waiting_period: seconds(
            "people.waiting_seconds",
            written.people.waiting_seconds,
            3_600,
            0..=30 * DAY,
        )?,
        idle: seconds(
            "people.idle_seconds",
            written.people.idle_seconds,
            12 * 3_600,
            60..=30 * DAY,
        )?,
        flood: flood(&written.flood)?,
        permit_for: seconds("permits.seconds", written.permits.seconds, 300, 1..=DAY)?,
        issuer: written.permits.issuer.unwrap_or_else(|| "countersign".to_owned()),
        seed_without_token: written.doors.seed_without_token.unwrap_or(true),
        respond_at_agents_door: written.doors.respond_at_agents_door.unwrap_or(true),
        country: crisis.0,
        preset: crisis.1,
        whitelist: written
            .whitelist
            .file
            .as_deref()
            .map(|path| absolute("whitelist.file", path))
            .transpose()?,
        ladder: [
            written.ladder.first.unwrap_or_else(|| vec!["terminal".to_owned()]),
            written.ladder.next,
            written.ladder.administrators,
            written.ladder.emergency,
        ],
        duty,
        drills: drills(&written.drills)?,
        channels: channels(&written.channels)?,
        inbox,
        hash: Digest::from_bytes([0; 32]),
    };
    known_channels(&rules)?;
    rules.hash = hash(&rules);
    Ok(rules)
}

/// The hash of what decides: two daemons with the same hash decide alike.
fn hash(rules: &Rules) -> Digest {
    // Debug of plain data is stable within one version, and the version is part of it.
    let text = format!("{}\n{}\n{rules:?}", env!("CARGO_PKG_VERSION"), rules::fingerprint());
    Digest::of(text.as_bytes())
}

pub fn wrong(field: &'static str, problem: impl Into<String>) -> ConfigError {
    ConfigError::Meaning { field, problem: problem.into() }
}

fn door(
    field: &'static str,
    written: Option<&str>,
    usual: &str,
) -> Result<SocketAddr, ConfigError> {
    let text = written.unwrap_or(usual);
    text.parse().map_err(|_| wrong(field, format!("`{text}` is no address such as {usual}")))
}

fn absolute(field: &'static str, path: &str) -> Result<PathBuf, ConfigError> {
    let path = Path::new(path);
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Err(wrong(field, format!("`{}` is no absolute path", path.display())))
    }
}

fn socket(doors: &written::Doors, paths: &Paths) -> Result<Option<Socket>, ConfigError> {
    let mode = doors.socket_mode.as_deref().unwrap_or("0600");
    let mode = u32::from_str_radix(mode, 8)
        .ok()
        .filter(|mode| mode & !0o777 == 0)
        .ok_or_else(|| wrong("doors.socket_mode", format!("`{mode}` is no mode such as 0660")))?;
    let path = match doors.socket.as_deref() {
        Some("") => return Ok(None),
        Some(path) => absolute("doors.socket", path)?,
        None => paths.runtime.join("agents.sock"),
    };
    Ok(Some(Socket { path, mode }))
}

fn mode(written: Option<&str>) -> Result<Mode, ConfigError> {
    match written {
        None | Some("enforce") => Ok(Mode::Enforce),
        Some("crisis_only") => Ok(Mode::CrisisOnly),
        Some("observe") => Ok(Mode::Observe),
        Some(other) => {
            Err(wrong("mode", format!("`{other}` is not observe, crisis_only or enforce")))
        }
    }
}

fn environment(written: Option<&str>) -> Result<Environment, ConfigError> {
    let text = written.unwrap_or("workstation");
    Environment::parse(text).ok_or_else(|| {
        wrong(
            "judgement.environment",
            format!("`{text}` is not workstation, production, ci or container"),
        )
    })
}

fn judgement(written: &written::Judgement) -> Result<Policy, ConfigError> {
    let usual = Thresholds::default();
    let points = |field, value: Option<f64>, usual: Points| match value {
        None => Ok(usual),
        Some(value) => hundredths(value, 400)
            .map(Points)
            .ok_or_else(|| wrong(field, format!("{value} is not between 0 and 4"))),
    };
    let confidence = match written.low_confidence {
        None => Policy::default().low_confidence,
        Some(value) => {
            hundredths(value, 100).and_then(|value| u8::try_from(value).ok()).ok_or_else(|| {
                wrong("judgement.low_confidence", format!("{value} is not between 0 and 1"))
            })?
        }
    };
    Ok(Policy {
        // What a mode lets pass is decided by the route, after the judgement.
        mode: Mode::Enforce,
        thresholds: Thresholds {
            api: points("judgement.api_threshold", written.api_threshold, usual.api)?,
            telegram: points(
                "judgement.telegram_threshold",
                written.telegram_threshold,
                usual.telegram,
            )?,
            discord: points(
                "judgement.discord_threshold",
                written.discord_threshold,
                usual.discord,
            )?,
            cli: points("judgement.cli_threshold", written.cli_threshold, usual.cli)?,
        },
        low_confidence: confidence,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded by the check before it"
)]
fn hundredths(value: f64, most: u16) -> Option<u16> {
    let scaled = (value * 100.0).round();
    (scaled >= 0.0 && scaled <= f64::from(most)).then_some(scaled as u16)
}

pub fn seconds(
    field: &'static str,
    written: Option<u32>,
    usual: u32,
    bounds: std::ops::RangeInclusive<u32>,
) -> Result<Span, ConfigError> {
    number(field, written, usual, bounds).map(Span::seconds)
}

fn number(
    field: &'static str,
    written: Option<u32>,
    usual: u32,
    bounds: std::ops::RangeInclusive<u32>,
) -> Result<u32, ConfigError> {
    let value = written.unwrap_or(usual);
    if bounds.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(wrong(field, format!("{value} is not between {least} and {most}")))
}

fn times(written: &written::Times) -> Result<Times, ConfigError> {
    let profile = match written.profile.as_deref() {
        None | Some("standard") => Profile::Standard,
        Some("strict") => Profile::Strict,
        Some(other) => {
            return Err(wrong("times.profile", format!("`{other}` is not standard or strict")));
        }
    };
    let longest = number("times.longest_seconds", written.longest_seconds, 600, 1..=DAY)?;
    Ok(Times {
        profile,
        usual: seconds(
            "times.usual_seconds",
            written.usual_seconds,
            300.min(longest),
            1..=longest,
        )?,
        longest: Span::seconds(longest),
        medium: seconds("times.medium_climb_seconds", written.medium_climb_seconds, 60, 1..=DAY)?,
        high: seconds("times.high_climb_seconds", written.high_climb_seconds, 30, 1..=DAY)?,
        critical: seconds(
            "times.critical_climb_seconds",
            written.critical_climb_seconds,
            10,
            1..=DAY,
        )?,
    })
}

fn quorum(written: &written::Quorum) -> Result<QuorumByTier, ConfigError> {
    let people = |field, value: Option<u8>| {
        number(field, value.map(u32::from), 1, 1..=100)
            .map(|value| u8::try_from(value).unwrap_or(u8::MAX))
    };
    Ok(QuorumByTier {
        medium: people("quorum.medium", written.medium)?,
        high: people("quorum.high", written.high)?,
        critical: people("quorum.critical", written.critical)?,
        crisis: people("quorum.crisis", written.crisis)?,
        deny: people("quorum.deny", written.deny)?,
    })
}

fn needs(written: &written::Assurance) -> Result<Needs, ConfigError> {
    let usual = Needs::default();
    let word = |field, value: &Option<String>, usual| match value.as_deref() {
        None => Ok(usual),
        Some(text) => Assurance::parse(text).ok_or_else(|| {
            wrong(field, format!("`{text}` is not reached, linked, login or passkey"))
        }),
    };
    let needs = Needs {
        medium: word("assurance.medium", &written.medium, usual.medium)?,
        high: word("assurance.high", &written.high, usual.high)?,
        critical: word("assurance.critical", &written.critical, usual.critical)?,
    };
    if needs.high < Assurance::Linked {
        return Err(wrong("assurance.high", "HIGH needs at least `linked`"));
    }
    if needs.critical < Assurance::Login {
        return Err(wrong("assurance.critical", "CRITICAL needs at least `login`"));
    }
    Ok(needs)
}

fn flood(written: &written::Flood) -> Result<Flood, ConfigError> {
    const MANY: u32 = 10_000_000;
    let minutes = |field, value, usual| {
        number(field, value, usual, 1..=1440).map(|minutes| Span::seconds(minutes * 60))
    };
    Ok(Flood {
        open_per_agent: number("flood.open_per_agent", written.open_per_agent, 20, 1..=MANY)?,
        asks_per_minute: number("flood.asks_per_minute", written.asks_per_minute, 30, 1..=MANY)?,
        asks_per_hour: number("flood.asks_per_hour", written.asks_per_hour, 200, 1..=MANY)?,
        denials: number("flood.denials", written.denials, 5, 1..=MANY)?,
        within: minutes("flood.within_minutes", written.within_minutes, 10)?,
        quarantine: minutes("flood.quarantine_minutes", written.quarantine_minutes, 5)?,
    })
}

fn drills(written: &written::Drills) -> Result<Drills, ConfigError> {
    let usual = ["mon-fri".to_owned()];
    let days = written.days.as_deref().unwrap_or(&usual);
    let (from, to) = (written.from.as_deref(), written.to.as_deref());
    let hours = duty::hours(days, from.or(Some("09:00")), to.or(Some("17:00")));
    Ok(Drills {
        per_week: number("drills.per_week", written.per_week, 0, 0..=MOST_DRILLS)?,
        hours: hours.map_err(|problem| wrong("drills", problem))?,
    })
}

fn prove_every(written: &written::Doctor) -> Result<Option<Span>, ConfigError> {
    let hours = number("doctor.every_hours", written.every_hours, 6, 0..=MOST_HOURS)?;
    Ok((hours > 0).then(|| Span::seconds(hours * 3600)))
}

fn ledger(written: &written::Ledger) -> Result<Ledger, ConfigError> {
    let path = |field, path: &Option<String>| {
        path.as_deref().map(|path| absolute(field, path)).transpose()
    };
    Ok(Ledger {
        every: seconds("ledger.checkpoint_seconds", written.checkpoint_seconds, 10, 1..=DAY)?,
        file: path("ledger.witness_file", &written.witness_file)?,
        webhook: written.witness_webhook.clone(),
        git: path("ledger.witness_git", &written.witness_git)?,
    })
}

fn crisis(written: &written::Crisis) -> Result<(Option<String>, Preset), ConfigError> {
    if let Some(code) = &written.country
        && crisis::country(code).is_none()
    {
        return Err(wrong("crisis.country", format!("`{code}` is no country such as US or DE")));
    }
    let preset = match written.preset.as_deref() {
        None | Some("neutral") => Preset::Neutral,
        Some("soul") => Preset::Soul,
        Some(other) => {
            return Err(wrong("crisis.preset", format!("`{other}` is not neutral or soul")));
        }
    };
    Ok((written.country.clone(), preset))
}

fn log(written: &written::Log) -> Result<Log, ConfigError> {
    let json = match written.format.as_deref() {
        None | Some("text") => false,
        Some("json") => true,
        Some(other) => return Err(wrong("log.format", format!("`{other}` is not text or json"))),
    };
    let usual = Log { level: "info".to_owned(), json, otlp: written.otlp.clone() };
    let level = written.level.as_deref().unwrap_or(&usual.level);
    usual.at(level).map_err(|problem| wrong("log.level", problem))
}

/// How links begin: as the operator says, or the people's door itself.
fn inbox(doors: &written::Doors) -> Result<String, ConfigError> {
    let Some(url) = doors.url.as_deref() else {
        let people = door("doors.people", doors.people.as_deref(), "127.0.0.1:6001")?;
        return Ok(format!("http://{people}"));
    };
    let good = url.starts_with("https://") || url.starts_with("http://");
    if good && url.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(url.trim_end_matches('/').to_owned())
    } else {
        Err(wrong("doors.url", format!("`{url}` is no URL such as https://approve.example.org")))
    }
}

/// A rung that names a channel nobody set up would ask nobody.
fn known_channels(rules: &Rules) -> Result<(), ConfigError> {
    for name in rules.ladder.iter().flatten().chain(rules.duty.named()) {
        if !rules.channels.contains_key(name) && !rules.duty.is_rota(name) {
            return Err(wrong("ladder", format!("there is no [channels.{name}]")));
        }
    }
    Ok(())
}
