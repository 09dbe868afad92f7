//! The whole configuration from its file: sections checked one by one, then against each other.

use std::sync::Arc;

use countersign_json::canonical::Digest;
use countersign_policy::CompiledPolicy;
use countersign_risk::rules;
use countersign_risk::verdict::Mode;
use countersign_tls::split_authority;
use countersign_types::time::Millis;

use super::channels::channels;
use super::check::{invalid, seconds};
use super::deadlines::deadlines;
use super::error::ConfigError;
use super::file::{self, ConfigFile};
use super::flood_limits::flood;
use super::guard::guard;
use super::judge::judge;
use super::learning::learning;
use super::listen::{check_exposure, hosts, listen_address, socket, tls};
use super::model::{DaemonConfig, DaemonRules};
use super::oncall::OnCall;
use super::paths::Paths;
use super::policy::{check_routes, tested_policy};
use super::review::review;
use super::sections::{
    absolute, assessment, crisis, drills, environment, ledger, log, mode, needs, quorum,
    test_gates_every, times,
};
use super::settings::WrittenSettings;
use super::unattended::UnattendedSettings;
use super::undo::undo;
use super::whitelist::Whitelist;

const DAY: u32 = 86_400;

pub fn resolve(config: ConfigFile, paths: &Paths) -> Result<DaemonConfig, ConfigError> {
    let listen = config.listen.clone();
    let store = match &config.store.path {
        Some(path) => absolute("store.path", path)?,
        None => paths.state.join("countersign.db"),
    };
    let resolved = DaemonConfig {
        undo: undo(&config.undo)?,
        agents: listen_address("listen.agents", listen.agents.as_deref(), "127.0.0.1:6000")?,
        people: listen_address("listen.people", listen.people.as_deref(), "127.0.0.1:6001")?,
        tls: tls(&listen)?,
        tls_proxy: listen.tls_proxy.unwrap_or(false),
        socket: socket(&listen, paths)?,
        hosts: hosts(listen.hosts)?,
        store,
        state: paths.state.clone(),
        strict: config.store.strict.unwrap_or(false),
        ledger: ledger(&config.ledger)?,
        test_gates_every: test_gates_every(&config.doctor)?,
        log: log(&config.log)?,
        create_owner: true,
        rules: rules(config, paths)?,
    };
    check_exposure(&resolved)?;
    Ok(resolved)
}

fn rules(config: ConfigFile, paths: &Paths) -> Result<DaemonRules, ConfigError> {
    let crisis = crisis(&config.crisis)?;
    let inbox = inbox(&config.listen)?;
    let oncall = OnCall::new(&config.escalation, config.quiet.as_ref(), &config.rota)?;
    let assessment = assessment(&config.assessment)?;
    let mut rules = DaemonRules {
        mode: mode(config.mode.as_deref())?,
        policy: tested_policy(&config.policy, paths, &assessment)?,
        assessment,
        environment: environment(config.assessment.environment.as_deref())?,
        times: times(&config.times)?,
        deadlines: deadlines(&config.times.deadlines)?,
        quorum: quorum(&config.quorum)?,
        needs: needs(&config.assurance)?,
        waiting_period: waiting_period(&config.people)?,
        idle: idle(&config.people)?,
        flood: flood(&config.flood)?,
        permit_for: seconds("permits.seconds", config.permits.seconds, 300, 1..=DAY)?,
        return_for: return_time(&config.permits)?,
        issuer: config.permits.issuer.unwrap_or_else(|| "countersign".to_owned()),
        confirm_without_token: config.listen.confirm_without_token.unwrap_or(true),
        respond_on_agent_api: config.listen.respond_on_agent_api.unwrap_or(true),
        respond_without_word: config.listen.respond_without_word.unwrap_or(false),
        country: crisis.0,
        preset: crisis.1,
        guard: guard(&config.guard)?,
        whitelist: whitelist(&config.whitelist)?,
        escalation: [
            config.escalation.first.unwrap_or_else(|| vec!["terminal".to_owned()]),
            config.escalation.next,
            config.escalation.administrators,
            config.escalation.emergency,
        ],
        oncall,
        drills: drills(&config.drills)?,
        channels: channels(&config.channels)?,
        inbox,
        judge: config.judge.as_ref().map(judge).transpose()?,
        learning: learning(&config.learning)?,
        review: review(config.review)?,
        written: WrittenSettings::default(),
        hash: Digest::from_bytes([0; 32]),
    };
    known_channels(&rules)?;
    check_routes(&rules.policy, |name| rules.is_channel_or_rota(name))?;
    rules.hash = hash(&rules);
    Ok(rules)
}

impl DaemonRules {
    /// Sets another mode, and the hash that belongs to it.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.rehash();
    }

    /// Whether this names a channel, or with `@` a rota.
    pub fn is_channel_or_rota(&self, name: &str) -> bool {
        self.channels.contains_key(name) || self.oncall.is_rota(name)
    }

    /// Sets other policy rules, and the hash that belongs to them.
    pub fn set_policy(&mut self, policy: Arc<CompiledPolicy>) {
        self.policy = policy;
        self.rehash();
    }

    /// Sets what may run without a person and what protects the gate, and the hash that belongs to
    /// it.
    pub fn set_unattended(&mut self, settings: UnattendedSettings) {
        (self.review, self.learning) = (settings.review, settings.learning);
        if let Some(safeguards) = settings.safeguards {
            safeguards.apply_to(self);
        }
        self.rehash();
    }

    fn rehash(&mut self) {
        self.hash = Digest::from_bytes([0; 32]);
        self.hash = hash(self);
    }
}

fn waiting_period(people: &file::PeopleSection) -> Result<Millis, ConfigError> {
    seconds("people.waiting_seconds", people.waiting_seconds, 3_600, 0..=30 * DAY)
}

fn return_time(permits: &file::PermitsSection) -> Result<Millis, ConfigError> {
    seconds("permits.return_seconds", permits.return_seconds, 16 * 3_600, 1..=7 * DAY)
}

fn idle(people: &file::PeopleSection) -> Result<Millis, ConfigError> {
    seconds("people.idle_seconds", people.idle_seconds, 2 * 3_600, 60..=30 * DAY)
}

fn whitelist(section: &file::WhitelistSection) -> Result<Whitelist, ConfigError> {
    let file = section.file.as_deref().map(|path| absolute("whitelist.file", path)).transpose()?;
    Ok(Whitelist::load(file))
}

/// The hash of the policy: two daemons with the same hash decide alike.
fn hash(rules: &DaemonRules) -> Digest {
    // Debug of plain data is stable within one version, and the version is part of it.
    let text = format!("{}\n{}\n{rules:?}", env!("CARGO_PKG_VERSION"), rules::fingerprint());
    Digest::of(text.as_bytes())
}

/// The base URL of the inbox: as configured, or the address of the people API.
fn inbox(listen: &file::ListenSection) -> Result<String, ConfigError> {
    let Some(url) = listen.url.as_deref() else {
        let people = listen_address("listen.people", listen.people.as_deref(), "127.0.0.1:6001")?;
        return Ok(match (listen.tls.unwrap_or(false), listen.hosts.first()) {
            (false, _) => format!("http://{people}"),
            (true, None) => format!("https://{people}"),
            (true, Some(host)) if split_authority(host).1.is_some() => format!("https://{host}"),
            (true, Some(host)) => format!("https://{host}:{}", people.port()),
        });
    };
    let good = url.starts_with("https://") || url.starts_with("http://");
    if good && url.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(url.trim_end_matches('/').to_owned())
    } else {
        Err(invalid(
            "listen.url",
            format!("`{url}` is not a URL such as https://approve.example.org"),
        ))
    }
}

/// A level with an unknown channel would notify no one.
fn known_channels(rules: &DaemonRules) -> Result<(), ConfigError> {
    for name in rules.escalation.iter().flatten().chain(rules.oncall.channel_names()) {
        if !rules.is_channel_or_rota(name) {
            return Err(invalid(
                "escalation",
                format!("channel `{name}` is not configured: add [channels.{name}]"),
            ));
        }
    }
    Ok(())
}
