//! What touching a path costs. To be replaced by the path reader of the crate.

use std::borrow::Cow;

use crate::code::value::HOLE;
use crate::tier::Tier;

/// What it costs to read, write or delete something, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) read: Tier,
    pub(super) write: Tier,
    pub(super) delete: Tier,
    pub(super) note: &'static str,
}

const fn reach(read: Tier, write: Tier, delete: Tier, note: &'static str) -> Reach {
    Reach { read, write, delete, note }
}

const ORDINARY: Reach = reach(Tier::Safe, Tier::Low, Tier::Medium, "");
const SCRATCH: Reach = reach(Tier::Safe, Tier::Low, Tier::Medium, "");
const SYSTEM: Reach =
    reach(Tier::Low, Tier::High, Tier::High, "it belongs to the operating system");
const ACCOUNTS: Reach =
    reach(Tier::Low, Tier::Critical, Tier::Critical, "it decides who may use this machine");
const SECRET: Reach = reach(Tier::High, Tier::High, Tier::High, "it holds passwords or keys");
const SHADOW: Reach = reach(Tier::High, Tier::Critical, Tier::Critical, "it holds all passwords");
const LOCK: Reach = reach(Tier::Low, Tier::Critical, Tier::High, "it decides who may log in");
const STARTUP: Reach = reach(Tier::Low, Tier::High, Tier::High, "it runs by itself later");
const TIMER: Reach = reach(Tier::Low, Tier::Critical, Tier::High, "it runs by itself later");
const DEVICE: Reach = reach(Tier::High, Tier::Critical, Tier::Critical, "it is a whole disk");
const ROOT: Reach = reach(Tier::Safe, Tier::High, Tier::Critical, "it is the whole machine");
const HOME: Reach = reach(Tier::Safe, Tier::High, Tier::Critical, "it is a whole home folder");
const NOTHING: Reach = reach(Tier::Safe, Tier::Safe, Tier::Medium, "");

const SECRET_PARTS: [&str; 26] = [
    "/.ssh/id_",
    "/.ssh/identity",
    "/.aws/credentials",
    "/.aws/config",
    "/.netrc",
    "/.pgpass",
    "/.kube/config",
    "/.docker/config.json",
    "/.gnupg/",
    "/.git-credentials",
    "/.npmrc",
    "/.pypirc",
    "/.config/gcloud",
    "/.azure/",
    "/.env",
    "/login data",
    "/cookies",
    "/key4.db",
    "/logins.json",
    "/keychains/",
    "/wallet.dat",
    "/.password-store",
    "/id_rsa",
    "/id_ed25519",
    "/etc/ssl/private",
    "/.bash_history",
];
const STARTUP_ENDS: [&str; 12] = [
    "/.bashrc",
    "/.bash_profile",
    "/.profile",
    "/.zshrc",
    "/.zshenv",
    "/.zprofile",
    "/.bash_logout",
    "/.vimrc",
    "/.gitconfig",
    "/etc/profile",
    "/etc/rc.local",
    "/etc/ld.so.preload",
];
const TIMER_PARTS: [&str; 8] = [
    "/etc/cron",
    "/var/spool/cron",
    "/etc/systemd/",
    "/systemd/user/",
    "/launchagents/",
    "/launchdaemons/",
    "/etc/init.d/",
    "/start menu/programs/startup",
];
const SYSTEM_TOPS: [&str; 16] = [
    "etc", "usr", "bin", "sbin", "lib", "lib64", "boot", "var", "proc", "sys", "dev", "opt",
    "root", "system", "library", "windows",
];

/// The class of a path.
pub(super) fn sensitive(path: &str) -> Reach {
    let clean = normal(path);
    let p = clean.as_ref();
    let base = p.rsplit('/').next().unwrap_or_default();
    if p == "/" || p == "/*" || p == "c:/" || p == "c:" {
        return ROOT;
    }
    if matches!(p, "~" | "/~" | "/root" | "/home" | "/users" | "~/*" | "/home/*" | "c:/users") {
        return HOME;
    }
    if p.strip_prefix("/home/").or(p.strip_prefix("/users/")).is_some_and(|u| !u.contains('/')) {
        return HOME;
    }
    if matches!(p, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty") {
        return NOTHING;
    }
    if ["sd", "nvme", "hd", "vd", "disk", "mapper", "mem", "kmem"]
        .iter()
        .any(|d| p.strip_prefix("/dev/").is_some_and(|rest| rest.starts_with(d)))
    {
        return DEVICE;
    }
    if matches!(p, "/etc/shadow" | "/etc/gshadow" | "/etc/master.passwd" | "/etc/shadow-") {
        return SHADOW;
    }
    if matches!(p, "/etc/passwd" | "/etc/group" | "/etc/sudoers") || p.starts_with("/etc/sudoers.d")
    {
        return ACCOUNTS;
    }
    if base == "authorized_keys" || p.starts_with("/etc/pam.d/") || p.starts_with("/etc/ssh/") {
        return LOCK;
    }
    let rooted = if p.starts_with('/') { Cow::Borrowed(p) } else { Cow::Owned(format!("/{p}")) };
    let example = base.ends_with(".example") || base.ends_with(".sample");
    let environ = p.starts_with("/proc/") && p.ends_with("/environ");
    if environ || (!example && SECRET_PARTS.iter().any(|part| rooted.contains(part))) {
        return SECRET;
    }
    if TIMER_PARTS.iter().any(|part| rooted.contains(part)) {
        return TIMER;
    }
    if STARTUP_ENDS.iter().any(|end| rooted.ends_with(end)) {
        return STARTUP;
    }
    if ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/var/folders"]
        .iter()
        .any(|t| p.strip_prefix(t).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    {
        return SCRATCH;
    }
    let top = p.trim_start_matches("c:").strip_prefix('/').and_then(|r| r.split('/').next());
    if top.is_some_and(|t| SYSTEM_TOPS.contains(&t) || t.starts_with("program files")) {
        return if p == "/usr/local/lib" || p.contains("/node_modules/") {
            ORDINARY
        } else {
            SYSTEM
        };
    }
    ORDINARY
}

/// Lower case, forward slashes, `.` and `..` resolved, what is unknown an ordinary name.
fn normal(path: &str) -> Cow<'_, str> {
    if path.contains(HOLE) {
        return Cow::Owned(normal(&path.replace(HOLE, "x")).into_owned());
    }
    let known = path.strip_prefix("file://").unwrap_or(path);
    let tidy = !known.contains("..")
        && !known.contains("//")
        && !known.contains("/.")
        && !known.contains('\\')
        && !known.ends_with('/')
        && !known.bytes().any(|b| b.is_ascii_uppercase());
    if tidy || known.len() > 4096 {
        return Cow::Borrowed(known);
    }
    let lower = known.replace('\\', "/").to_ascii_lowercase();
    let mut parts: Vec<&str> = Vec::new();
    for part in lower.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => drop(parts.pop()),
            ".." if lower.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(if lower.starts_with('/') { format!("/{joined}") } else { joined })
}
