//! Ways to root that this user has: groups, sudo, control sockets of container engines.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use countersign_gateways::live::probe::run_with_input;
use rustix::fs::{Access, access};

use super::check::Check;

/// Groups whose members can become root, or read and write its files.
const ROOT_GROUPS: [&str; 14] = [
    "root",
    "wheel",
    "sudo",
    "admin",
    "docker",
    "podman",
    "lxd",
    "incus",
    "incus-admin",
    "libvirt",
    "disk",
    "kmem",
    "shadow",
    "microk8s",
];

/// Sockets through which a user can start a container with the files of the host.
const CONTROL_SOCKETS: [&str; 7] = [
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/var/lib/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
];

/// How long `sudo` may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// One reason for each way to root; `daemon` is the group of the daemon's account.
pub fn privilege_reasons(me: u32, daemon: u32) -> Vec<Check> {
    let read = |file| fs::read_to_string(file).unwrap_or_default();
    let user = user_name(&read("/etc/passwd"), me);
    let mut numbers: Vec<u32> =
        rustix::process::getgroups().unwrap_or_default().iter().map(|id| id.as_raw()).collect();
    numbers.push(rustix::process::getgid().as_raw());
    let mut reasons = group_reasons(&read("/etc/group"), &user, &numbers, daemon);
    for socket in CONTROL_SOCKETS {
        if access(Path::new(socket), Access::WRITE_OK).is_ok() {
            let say = format!("This user can write {socket} and start containers as root.");
            reasons.push(Check::bad(
                say,
                &format!("chmod o= {socket}, or run agents as a user without it"),
            ));
        }
    }
    reasons.extend(sudo_reason(&user));
    reasons
}

/// The name of a user, or its number.
fn user_name(passwd: &str, uid: u32) -> String {
    let found = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| uid.to_string())
}

/// The groups of this process, and those that the user gets at the next login.
fn group_reasons(groups: &str, user: &str, numbers: &[u32], daemon: u32) -> Vec<Check> {
    let mut reasons = Vec::new();
    for line in groups.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, members, ..] = fields.as_slice() else { continue };
        let number: Option<u32> = number.parse().ok();
        let is_member = members.split(',').any(|member| member == user)
            || number.is_some_and(|number| numbers.contains(&number));
        if !is_member {
            continue;
        }
        let why = if ROOT_GROUPS.contains(name) {
            "whose members can become root"
        } else if number == Some(daemon) {
            "which is the group of the daemon and can read its configuration"
        } else {
            continue;
        };
        let say = format!("This user is in the group {name}, {why}.");
        let remedy = format!("gpasswd -d {user} {name}, or run agents as another user");
        reasons.push(Check::bad(say, &remedy));
    }
    reasons
}

/// Whether `sudo` runs commands without a password now.
fn sudo_reason(user: &str) -> Option<Check> {
    let mut command = Command::new("sudo");
    command.args(["-n", "-l"]).env("LC_ALL", "C");
    let output = run_with_input(&mut command, String::new(), PATIENCE).ok().flatten()?;
    is_allowed(output.code, &output.out).then(|| {
        let say = "This user can run commands as root with sudo, without a password.";
        Check::bad(say, &format!("remove {user} from /etc/sudoers and its folder, or `sudo -k`"))
    })
}

fn is_allowed(code: Option<i32>, out: &str) -> bool {
    code == Some(0) && out.contains("may run the following commands")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_lead_to_root_are_named() {
        let groups = "root:x:0:\ndocker:x:990:mia,ana\nsudo:x:27:\nusers:x:100:ana\n\
                      countersign:x:995:\nbroken\n";
        let found = |numbers: &[u32]| -> Vec<String> {
            let reasons = group_reasons(groups, "ana", numbers, 995);
            reasons.into_iter().map(|check| check.say).collect()
        };
        let docker = "This user is in the group docker, whose members can become root.";
        assert_eq!(found(&[100]), [docker]);
        assert_eq!(found(&[100, 27]).len(), 2);
        let own = found(&[995]);
        assert!(own.iter().any(|say| say.contains("group of the daemon")), "{own:?}");
        assert!(group_reasons(groups, "bo", &[100], 995).is_empty());
    }

    #[test]
    fn users_are_named_and_sudo_s_answer_is_read() {
        let passwd = "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\n";
        assert_eq!(user_name(passwd, 1000), "ana");
        assert_eq!(user_name(passwd, 1001), "1001");
        let allowed = "User ana may run the following commands on here:\n (ALL) NOPASSWD: ALL\n";
        assert!(is_allowed(Some(0), allowed));
        assert!(!is_allowed(Some(1), "sudo: a password is required"));
        assert!(!is_allowed(Some(0), "User bo is not allowed to run sudo on here."));
    }
}
