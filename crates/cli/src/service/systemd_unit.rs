//! The systemd unit, as text.

use std::fmt::Write as _;

use super::spec::{ServiceAccount, ServiceSpec};
use crate::failure::Failure;

/// The text of the unit.
pub fn systemd_unit(spec: &ServiceSpec) -> Result<String, Failure> {
    let words: Result<Vec<_>, _> = spec.command().iter().map(|word| quoted(word)).collect();
    let command = words?.join(" ");
    let mut text = format!(
        "# Written by `countersign service install`.\n\
         [Unit]\n\
         Description=Countersign, which asks a person before an AI agent's risky calls\n\
         {}\
         # Without the daemon every risky call is blocked: it is always started again.\n\
         StartLimitIntervalSec=0\n\n\
         [Service]\n\
         Type=exec\n\
         ExecStart={command}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=always\n\
         RestartSec=2\n\
         TimeoutStopSec=15\n",
        if spec.account.is_some() { "After=network.target\n" } else { "" },
    );
    text.push_str(COMMON);
    let target = match &spec.account {
        Some(account) => {
            let _ = write!(text, "{}", system_settings(account));
            "multi-user.target"
        }
        None => "default.target",
    };
    let _ = write!(text, "\n[Install]\nWantedBy={target}\n");
    Ok(text)
}

/// What also works without root: a service of a user has no namespaces of its own.
const COMMON: &str = "\
UMask=0077
LimitCORE=0
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
";

fn system_settings(account: &ServiceAccount) -> String {
    let ServiceAccount { name, agents, .. } = account;
    format!(
        "User={name}\n\
         Group={name}\n\
         # To give the socket to the group of the agents.\n\
         SupplementaryGroups={agents}\n\
         StateDirectory=countersign\n\
         StateDirectoryMode=0700\n\
         RuntimeDirectory=countersign\n\
         RuntimeDirectoryMode=0755\n\
         # While the daemon is stopped, clients find its folder and no other daemon.\n\
         RuntimeDirectoryPreserve=yes\n\
         {SYSTEM}"
    )
}

const SYSTEM: &str = "\
SystemCallFilter=~@privileged
SystemCallFilter=@chown
CapabilityBoundingSet=
AmbientCapabilities=
DevicePolicy=closed
KeyringMode=private
MemoryDenyWriteExecute=yes
PrivateDevices=yes
PrivateMounts=yes
# No PrivateUsers: the daemon knows agents by their user, which it would hide.
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictNamespaces=yes
";

/// A word as systemd reads it back unchanged.
fn quoted(word: &str) -> Result<String, Failure> {
    if word.chars().any(char::is_control) {
        return Err(Failure::at(word, "a path with control characters cannot be in a unit"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.,:@+=".contains(c);
    if word.chars().all(plain) {
        return Ok(word.to_owned());
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '%' | '$' => text.extend([c, c]),
            c => text.push(c),
        }
    }
    text.push('"');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_add_a_setting() {
        assert_eq!(quoted("/usr/local/bin/countersign").unwrap(), "/usr/local/bin/countersign");
        assert_eq!(quoted("/a b/%h/$X\"\\").unwrap(), r#""/a b/%%h/$$X\"\\""#);
        assert!(quoted("/a\nExecStartPre=/bin/sh").is_err());
    }
}
