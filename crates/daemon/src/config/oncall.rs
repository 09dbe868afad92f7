//! On-call: escalation levels by tier and time of day, rotations, quiet hours.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use countersign_policy::CallTime;
use countersign_types::tier::Tier;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::oncall::{Hours, Rotation, WallTime};

use super::check;
use super::error::ConfigError;
use super::file::{self, LevelsSection};

/// The time zone database, and the time zone of this machine.
const ZONES: &str = "/usr/share/zoneinfo";
const LOCAL: &str = "/etc/localtime";
/// The prefix of a rotation's name in the escalation levels.
const ROTA: char = '@';

/// The channels of each escalation level, lowest first.
pub type EscalationLevels = [Vec<String>; 4];

/// Exceptions from the default levels.
#[derive(Debug, Clone)]
pub struct OnCall {
    zone: Zone,
    by_tier: Vec<(Severity, LevelsSection)>,
    by_hour: Vec<(Hours, LevelsSection)>,
    rotas: BTreeMap<String, Rotation>,
    quiet: Option<Quiet>,
    /// How long interrupting channels wait while a person is active in the inbox.
    pub at_keyboard: Millis,
}

/// Quiet hours.
#[derive(Debug, Clone)]
struct Quiet {
    hours: Hours,
    digest: Vec<String>,
}

/// The calls that a part of the configuration applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Medium,
    High,
    Critical,
    Crisis,
}

/// A time zone. The rules' hash contains its name.
#[derive(Clone)]
struct Zone {
    name: String,
    zone: Arc<tz::TimeZone>,
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Zone {
    fn open(name: Option<&str>) -> Result<Zone, String> {
        let utc = || Zone { name: "UTC".to_owned(), zone: Arc::new(tz::TimeZone::utc()) };
        let Some(name) = name else {
            // A machine without a configured zone uses UTC.
            let zone = std::fs::read(LOCAL).ok().and_then(|data| read_zone(&data));
            return Ok(zone.map_or_else(utc, |zone| Zone { name: "local".to_owned(), zone }));
        };
        if name == "UTC" {
            return Ok(utc());
        }
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
        let strange = !name.bytes().all(plain) || name.starts_with('/');
        let data = std::fs::read(Path::new(ZONES).join(name)).ok().filter(|_| !strange);
        let zone = data.and_then(|data| read_zone(&data));
        let zone =
            zone.ok_or_else(|| format!("`{name}` is not a time zone such as Europe/Berlin"))?;
        Ok(Zone { name: name.to_owned(), zone })
    }

    fn wall(&self, now: Timestamp) -> WallTime {
        let found = self.zone.find_local_time_type(now.seconds());
        WallTime::at(now, found.map_or(0, tz::LocalTimeType::ut_offset))
    }
}

fn read_zone(data: &[u8]) -> Option<Arc<tz::TimeZone>> {
    tz::TimeZone::from_tz_data(data).ok().map(Arc::new)
}

impl OnCall {
    /// Checks the sections of the configuration.
    pub fn new(
        section: &file::EscalationSection,
        quiet: Option<&file::QuietSection>,
        rotas: &BTreeMap<String, file::RotaSection>,
    ) -> Result<OnCall, ConfigError> {
        let wrong = check::invalid;
        let zone = Zone::open(section.time_zone.as_deref())
            .map_err(|problem| wrong("escalation.time_zone", problem))?;
        let by_tier = [
            (Severity::Medium, &section.medium),
            (Severity::High, &section.high),
            (Severity::Critical, &section.critical),
            (Severity::Crisis, &section.crisis),
        ];
        let by_tier =
            by_tier.into_iter().filter_map(|(for_, levels)| Some((for_, levels.clone()?)));
        let mut by_hour = Vec::new();
        for part in &section.hours {
            let hours = hours(&part.days, part.from.as_deref(), part.to.as_deref())
                .map_err(|problem| wrong("escalation.hours", problem))?;
            by_hour.push((hours, part.levels()));
        }
        let quiet = quiet
            .map(|quiet| {
                let hours = hours(&quiet.days, quiet.from.as_deref(), quiet.to.as_deref())
                    .map_err(|problem| wrong("quiet", problem))?;
                Ok(Quiet { hours, digest: quiet.digest.clone() })
            })
            .transpose()?;
        let mut turns = BTreeMap::new();
        for (name, rota) in rotas {
            turns.insert(name.clone(), parse_rota(rota).map_err(|problem| wrong("rota", problem))?);
        }
        let at_keyboard = check::seconds(
            "escalation.at_keyboard_seconds",
            section.at_keyboard_seconds,
            10,
            0..=60,
        )?;
        Ok(OnCall { zone, by_tier: by_tier.collect(), by_hour, rotas: turns, quiet, at_keyboard })
    }

    /// The channels for such a call now. Hours of the day replace the default levels that they
    /// name, and the levels of a tier replace both.
    pub fn levels_at(
        &self,
        default: &EscalationLevels,
        tier: Tier,
        crisis: bool,
        now: Timestamp,
    ) -> EscalationLevels {
        let wall = self.zone.wall(now);
        let grave = match tier {
            _ if crisis => Severity::Crisis,
            Tier::Safe | Tier::Low | Tier::Medium => Severity::Medium,
            Tier::High => Severity::High,
            Tier::Critical => Severity::Critical,
        };
        let mut found = default.clone();
        let hour =
            self.by_hour.iter().find(|(hours, _)| hours.contains(wall)).map(|(_, levels)| levels);
        let tier = self.by_tier.iter().find(|(for_, _)| *for_ == grave).map(|(_, levels)| levels);
        for levels in [hour, tier].into_iter().flatten() {
            for (level, channel_names) in found.iter_mut().zip(levels.in_order()) {
                if let Some(channel_names) = channel_names {
                    level.clone_from(channel_names);
                }
            }
        }
        found.map(|level| self.resolve_rotas(level, now))
    }

    /// Replaces rotations by the channel that is on call.
    pub fn resolve_rotas(&self, level: Vec<String>, now: Timestamp) -> Vec<String> {
        let on_duty = |name: String| match name.strip_prefix(ROTA) {
            None => Some(name),
            Some(rota) => self.rotas.get(rota)?.on_call(now).map(str::to_owned),
        };
        level.into_iter().filter_map(on_duty).collect()
    }

    /// Whether quiet hours apply to such a call now. They never apply to high tiers.
    pub fn is_quiet(&self, tier: Tier, crisis: bool, now: Timestamp) -> bool {
        !crisis && tier <= Tier::Medium && self.is_quiet_hour(now)
    }

    /// Whether it is quiet now.
    pub fn is_quiet_hour(&self, now: Timestamp) -> bool {
        let quiet = self.quiet.as_ref();
        quiet.is_some_and(|quiet| quiet.hours.contains(self.zone.wall(now)))
    }

    /// Day and minute of the week by the clock of `escalation.time_zone`.
    pub fn wall_time(&self, now: Timestamp) -> WallTime {
        self.zone.wall(now)
    }

    /// The same as policy rules see it.
    pub fn call_time(&self, now: Timestamp) -> CallTime {
        let wall = self.wall_time(now);
        CallTime { hour: u8::try_from(wall.minute / 60).unwrap_or_default(), weekday: wall.day }
    }

    /// Whether it is one of these hours, by the clock of `escalation.time_zone`.
    pub fn holds(&self, hours: &Hours, now: Timestamp) -> bool {
        hours.contains(self.zone.wall(now))
    }

    /// The quiet hours and their time zone as text, if there are any.
    pub fn describe_quiet_hours(&self) -> Option<String> {
        let quiet = self.quiet.as_ref()?;
        Some(format!("{} ({} time)", quiet.hours.describe(), self.zone.name))
    }

    /// The channels that get the digest after the quiet hours.
    pub fn digest(&self, now: Timestamp) -> Vec<String> {
        let digest = self.quiet.as_ref().map(|quiet| quiet.digest.clone()).unwrap_or_default();
        self.resolve_rotas(digest, now)
    }

    /// Whether there is only the default levels, independent of call and hour.
    pub fn is_default(&self) -> bool {
        self.by_tier.is_empty()
            && self.by_hour.is_empty()
            && self.rotas.is_empty()
            && self.quiet.is_none()
    }

    /// Every channel or rota that is named anywhere.
    pub fn channel_names(&self) -> impl Iterator<Item = &String> {
        let parts = self.by_tier.iter().map(|(_, levels)| levels);
        let parts = parts.chain(self.by_hour.iter().map(|(_, levels)| levels));
        let levels = parts.flat_map(|levels| levels.in_order().into_iter().flatten().flatten());
        let digest = self.quiet.iter().flat_map(|quiet| &quiet.digest);
        levels.chain(digest).chain(self.rotas.values().flat_map(|rota| &rota.channels))
    }

    /// Whether a name in the escalation levels is a configured rotation.
    pub fn is_rota(&self, name: &str) -> bool {
        name.strip_prefix(ROTA).is_some_and(|rota| self.rotas.contains_key(rota))
    }
}

/// Hours of the week from the configuration.
pub fn hours(days: &[String], from: Option<&str>, to: Option<&str>) -> Result<Hours, String> {
    let minute = |field: &str, text: Option<&str>| {
        let text = text.ok_or_else(|| format!("{field} is missing: a time such as 22:00"))?;
        Hours::minute(text).ok_or_else(|| format!("{field}: `{text}` is not a time such as 22:00"))
    };
    let days = Hours::days(days.iter().map(String::as_str))
        .ok_or("days must be such as \"mon\" or \"mon-fri\"")?;
    Ok(Hours { days, from: minute("from", from)?, to: minute("to", to)? })
}

fn parse_rota(rota: &file::RotaSection) -> Result<Rotation, String> {
    let turn = match rota.turn.as_deref() {
        Some("day") => 86_400_000,
        Some("week") | None => 7 * 86_400_000,
        Some(other) => return Err(format!("turn: `{other}` is not day or week")),
    };
    let since = rota.since.as_deref().ok_or("since is missing: 2026-11-16T09:00:00Z")?;
    let since = Timestamp::parse(since)
        .ok_or_else(|| format!("since: `{since}` is not a time such as 2026-11-16T09:00:00Z"))?;
    if rota.channels.is_empty() {
        return Err("channels is missing: who takes turns".to_owned());
    }
    if rota.channels.iter().any(|channel| channel.starts_with(ROTA)) {
        return Err("channels: a rota cannot name a rota".to_owned());
    }
    Ok(Rotation { since, turn, channels: rota.channels.clone() })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{DaemonConfig, Paths};
    use super::*;

    fn read(text: &str) -> Result<super::super::DaemonRules, ConfigError> {
        let place = PathBuf::from("/s");
        let paths = Paths { config: place.clone(), state: place.clone(), runtime: place };
        DaemonConfig::read(text, &paths).map(|config| config.rules)
    }

    /// Monday, 16 November 2026, so many hours after midnight UTC.
    fn monday(hour: i64) -> Timestamp {
        Timestamp(1_794_787_200_000 + hour * 3_600_000)
    }

    const TEXT: &str = "[escalation]\ntime_zone = \"Europe/Berlin\"\nfirst = [\"desktop\"]\n\
        next = [\"@ops\"]\n[escalation.critical]\nfirst = [\"desktop\", \"terminal\"]\n\
        [[escalation.hours]]\ndays = [\"mon-fri\"]\nfrom = \"18:00\"\nto = \"08:00\"\n\
        first = [\"terminal\"]\n[quiet]\nfrom = \"22:00\"\nto = \"07:00\"\n\
        digest = [\"desktop\"]\n[rota.ops]\nchannels = [\"desktop\", \"terminal\"]\n\
        turn = \"day\"\nsince = \"2026-11-16T09:00:00Z\"\n";

    #[test]
    fn the_levels_depend_on_tier_and_hour() {
        let rules = read(TEXT).unwrap();
        let first = |tier, crisis, hour| {
            rules
                .oncall
                .levels_at(&rules.escalation, tier, crisis, monday(hour))
                .map(|level| level.join("+"))
        };
        // At noon the usual levels; in the evening its first level is another; CRITICAL its own.
        assert_eq!(first(Tier::Medium, false, 12)[..2], ["desktop", "desktop"]);
        assert_eq!(first(Tier::Medium, false, 20)[..2], ["terminal", "desktop"]);
        assert_eq!(first(Tier::Critical, false, 20)[0], "desktop+terminal");
        assert_eq!(first(Tier::Medium, true, 12)[0], "desktop");
        // Before nine it is the other one's turn, after it the first one's.
        assert_eq!(first(Tier::Medium, false, 8)[1], "terminal");
        assert_eq!(first(Tier::Medium, false, 33)[1], "terminal");
    }

    #[test]
    fn quiet_hours_never_apply_to_high_and_critical() {
        let rules = read(TEXT).unwrap();
        // 22:00 to 07:00 in Berlin is 21:00 to 06:00 UTC in November.
        for (hour, quiet) in [(20, false), (21, true), (29, true), (30, false)] {
            assert_eq!(rules.oncall.is_quiet(Tier::Medium, false, monday(hour)), quiet, "{hour}");
            for (tier, crisis) in
                [(Tier::High, false), (Tier::Critical, false), (Tier::Medium, true)]
            {
                assert!(!rules.oncall.is_quiet(tier, crisis, monday(hour)), "{hour} {tier:?}");
            }
        }
        assert_eq!(rules.oncall.digest(monday(31)), ["desktop"]);
        assert!(!read("").unwrap().oncall.is_quiet(Tier::Low, false, monday(3)));
    }

    #[test]
    fn invalid_oncall_settings_are_rejected() {
        for (text, field) in [
            ("[escalation]\ntime_zone = \"Mars/Base\"", "time_zone"),
            ("[escalation]\ntime_zone = \"../../etc/passwd\"", "time_zone"),
            ("[escalation]\nat_keyboard_seconds = 61", "at_keyboard_seconds"),
            ("[escalation.high]\nfirst = [\"pigeon\"]", "pigeon"),
            ("[escalation.high]\nfrist = []", "frist"),
            ("[escalation]\nfirst = [\"@ops\"]", "@ops"),
            ("[[escalation.hours]]\nfrom = \"9:00\"\nto = \"18:00\"", "from"),
            ("[[escalation.hours]]\nfrom = \"09:00\"", "to is missing"),
            (
                "[[escalation.hours]]\ndays = [\"someday\"]\nfrom = \"09:00\"\nto = \"18:00\"",
                "days",
            ),
            ("[quiet]\nfrom = \"22:00\"\nto = \"07:00\"\ndigest = [\"pigeon\"]", "pigeon"),
            ("[rota.ops]\nchannels = []\nsince = \"2026-11-16T09:00:00Z\"", "channels"),
            ("[rota.ops]\nchannels = [\"@x\"]\nsince = \"2026-11-16T09:00:00Z\"", "rota"),
            ("[rota.ops]\nchannels = [\"pigeon\"]\nsince = \"2026-11-16T09:00:00Z\"", "pigeon"),
            ("[rota.ops]\nchannels = [\"desktop\"]\nsince = \"monday\"", "since"),
            ("[rota.ops]\nchannels = [\"desktop\"]\nturn = \"year\"", "turn"),
        ] {
            let said = read(text).unwrap_err().to_string();
            assert!(said.contains(field), "{text}: {said}");
        }
    }
}
