//! Paths of Windows in the form in which the path classes are written.
//!
//! `C:\Users\me\x` is `~/x`, the system drive is `/c`, other drives are `/mnt/LETTER`, the registry
//! is `/hklm:` and `/hkcu:`. Windows ignores case, so the more severe class of both spellings
//! counts.

use std::borrow::Cow;

use crate::command_tables::CLASSES;
use crate::paths::class_of;
pub(crate) use crate::paths::drive::has_drive;
use countersign_shell::UNKNOWN;

/// Registry hives as they are written, and their short name.
const HIVES: [(&str, &str); 10] = [
    ("hklm", "hklm"),
    ("hkcu", "hkcu"),
    ("hkcr", "hkcr"),
    ("hku", "hku"),
    ("hkcc", "hklm"),
    ("hkey_local_machine", "hklm"),
    ("hkey_current_user", "hkcu"),
    ("hkey_classes_root", "hkcr"),
    ("hkey_users", "hku"),
    ("hkey_current_config", "hklm"),
];

/// Whether a word is written like a path of Windows.
pub(crate) fn is_windows(word: &str) -> bool {
    let bytes = word.as_bytes();
    let drive = matches!(bytes, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
        || matches!(bytes, [letter, b':'] if letter.is_ascii_alphabetic());
    if word.contains(['\n', '"', '\'', ';', '|', '<', '>']) {
        return false;
    }
    drive
        || word.starts_with("\\\\")
        || word.starts_with(".\\")
        || word.starts_with("..\\")
        || word.starts_with("~\\")
        || (word.contains('\\') && !word.contains(char::is_whitespace))
}

/// A word that names a program, in the form of the path classes. A path stays a path: `.\x` is not
/// the program `x` that the shell would search for.
pub(crate) fn program(word: &str, cwd: Option<&str>) -> String {
    let path = normalize(word, cwd).into_owned();
    let by_path = word.contains(['/', '\\']) && !path.contains('/');
    if by_path { format!("./{path}") } else { path }
}

/// `/d/x`, `/mnt/d/x` and `/cygdrive/d/x`, as Git Bash, WSL and Cygwin write `D:/x`.
pub(crate) fn drive_of_posix(path: &str) -> Option<String> {
    ["/mnt/", "/cygdrive/", "/"].iter().find_map(|start| {
        let rest = path.strip_prefix(start)?;
        let letter = rest.as_bytes().first().filter(|b| b.is_ascii_alphabetic())?;
        let below = rest.get(1..).filter(|below| below.is_empty() || below.starts_with('/'))?;
        Some(format!("{}:{}", char::from(*letter), if below.is_empty() { "/" } else { below }))
    })
}

/// The other host of `\\host\share`; none for this machine.
pub(crate) fn share_host(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("\\\\").or_else(|| path.strip_prefix("//"))?;
    let host = rest.split(['\\', '/']).next()?;
    let local = ["?", ".", "localhost", "127.0.0.1", "wsl$", "wsl.localhost", ""];
    (!local.iter().any(|l| host.eq_ignore_ascii_case(l))).then_some(host)
}

/// A path as the path classes know it, seen from a working folder.
pub(crate) fn normalize<'p>(path: &'p str, cwd: Option<&str>) -> Cow<'p, str> {
    if path.contains("://") || path.contains('\n') {
        return Cow::Borrowed(path);
    }
    let whole = located(path);
    let Some(whole) = whole else { return graver_case(Cow::Borrowed(path)) };
    let whole = match cwd.filter(|_| whole.starts_with('/') || whole.starts_with('~')) {
        Some(cwd) => inside(&whole, cwd).unwrap_or(whole),
        None => whole,
    };
    graver_case(Cow::Owned(whole))
}

/// The path with its drive, share or hive in our form; none if it has nothing of Windows.
fn located(path: &str) -> Option<String> {
    let provider = path.rfind("::").map_or(path, |at| path.get(at + 2..).unwrap_or_default());
    // `file.txt::$DATA` names the file itself.
    let provider = if provider.starts_with('$') {
        path.find("::").and_then(|at| path.get(..at)).unwrap_or(path)
    } else {
        provider
    };
    if provider == path && !path.contains(['\\', ':']) {
        return None;
    }
    let mut slashed = provider.replace('\\', "/");
    if let Some(rest) = fold_prefix(&slashed, "//?/globalroot/device/harddiskvolumeshadowcopy") {
        slashed = format!("C:{}", rest.find('/').and_then(|i| rest.get(i..)).unwrap_or("/"));
    } else if let Some(rest) = fold_prefix(&slashed, "//./physicaldrive") {
        return Some(format!("/dev/disk{rest}"));
    } else if slashed.starts_with("//?/") || slashed.starts_with("//./") {
        slashed.drain(..4);
    }
    for host in ["//localhost/", "//127.0.0.1/"] {
        if let Some(rest) = fold_prefix(&slashed, host) {
            slashed = rest.replacen('$', ":", 1);
        }
    }
    for host in ["//wsl$/", "//wsl.localhost/"] {
        if let Some(rest) = fold_prefix(&slashed, host) {
            return Some(rest.find('/').and_then(|i| rest.get(i..)).unwrap_or("/").to_owned());
        }
    }
    if slashed.starts_with("//") {
        return Some(slashed);
    }
    if let Some(named) = named_drive(&slashed) {
        return Some(named);
    }
    let bytes = slashed.as_bytes();
    match bytes {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            let rest = slashed.get(2..).unwrap_or_default().trim_start_matches('/');
            Some(on_drive(letter.to_ascii_lowercase(), rest))
        }
        // `\Windows` is on the current drive, most likely the system's.
        [b'/', ..] if path.starts_with('\\') => {
            Some(on_drive(b'c', slashed.trim_start_matches('/')))
        }
        _ => Some(slashed),
    }
}

/// A path in the registry, or on a drive of PowerShell that holds names.
fn named_drive(slashed: &str) -> Option<String> {
    let head = slashed.split(['/', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if let Some((written, hive)) = HIVES.iter().find(|(name, _)| *name == head) {
        let rest = slashed.get(written.len()..).unwrap_or_default();
        let rest = rest.trim_start_matches([':', '/']).to_ascii_lowercase();
        return Some(format!("/{hive}:/{rest}"));
    }
    if ["env", "variable", "function", "alias"].contains(&head.as_str())
        && slashed.as_bytes().get(head.len()) == Some(&b':')
    {
        // Drives of PowerShell that hold names, not files.
        let rest = slashed.get(head.len() + 1..).unwrap_or_default();
        return Some(format!("{head}-drive/{}", rest.trim_start_matches('/').replace('.', "_")));
    }
    None
}

fn on_drive(letter: u8, rest: &str) -> String {
    let rest = rest.replace("//", "/");
    let rest = trimmed(&rest);
    if rest.is_empty() || rest == "*" || rest == "*.*" || rest == "." {
        return if rest.starts_with('*') { "/*".to_owned() } else { "/".to_owned() };
    }
    if letter != b'c' {
        return format!("/mnt/{}/{rest}", char::from(letter));
    }
    let (first, below) = rest.split_once('/').unwrap_or((&rest, ""));
    let users = ["users", "documents and settings"];
    if !users.iter().any(|u| first.eq_ignore_ascii_case(u)) {
        return format!("/c/{rest}");
    }
    match below.split_once('/') {
        None if below.is_empty() => "/Users".to_owned(),
        None if below == "*" => "/Users/*".to_owned(),
        None => "~".to_owned(),
        Some((_, inner)) => format!("~/{inner}"),
    }
}

/// Windows ignores dots and blanks at the end of a name.
fn trimmed(path: &str) -> Cow<'_, str> {
    let path = path.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let short = last.trim_end_matches(['.', ' ']);
    if short.len() == last.len() || short.is_empty() {
        return Cow::Borrowed(path);
    }
    Cow::Borrowed(path.get(..path.len() - (last.len() - short.len())).unwrap_or(path))
}

/// The path relative to the working folder, where it is inside of it and nothing special.
fn inside(path: &str, cwd: &str) -> Option<String> {
    let folder = located(cwd)?;
    let ordinary = ["elsewhere", "home", "shared-data"];
    if !ordinary.contains(&class_of(path, None).id)
        || class_of(&format!("{folder}/*"), None).delete_tree
            == countersign_types::tier::Tier::Critical
    {
        return None;
    }
    let rest = fold_prefix(path, &folder)?;
    if rest.is_empty() {
        return Some(".".to_owned());
    }
    rest.strip_prefix('/').map(str::to_owned)
}

/// The rest behind a prefix, without regard to case.
pub(crate) fn fold_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| text.get(prefix.len()..).unwrap_or_default())
}

/// The spelling of the more severe class: names are compared without case on Windows.
fn graver_case(path: Cow<'_, str>) -> Cow<'_, str> {
    if !path.bytes().any(|b| b.is_ascii_uppercase()) {
        return path;
    }
    let lower = path.to_ascii_lowercase();
    let rank = |path: &str| {
        let class = class_of(path, None);
        CLASSES.iter().position(|c| c.id == class.id).unwrap_or(usize::MAX)
    };
    if rank(&lower) < rank(&path) { Cow::Owned(lower) } else { path }
}

/// Where a variable of the environment leads, as far as every Windows has it.
pub(crate) fn environment(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "userprofile" | "home" | "homepath" | "onedrive" => "~",
        "appdata" => "~/AppData/Roaming",
        "localappdata" => "~/AppData/Local",
        "temp" | "tmp" => "~/AppData/Local/Temp",
        "tmpdir" => "/tmp",
        "programdata" | "allusersprofile" => "C:/ProgramData",
        "systemroot" | "windir" => "C:/Windows",
        "programfiles" | "programw6432" => "C:/Program Files",
        "programfiles(x86)" => "C:/Program Files (x86)",
        "systemdrive" => "C:",
        "homedrive" => "",
        "public" => "C:/Users/Public",
        "comspec" => "cmd.exe",
        _ => return None,
    })
}

/// Whether a text holds a part that is only known at run time.
pub(crate) fn is_unknown(text: &str) -> bool {
    text.contains(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(path: &str) -> &'static str {
        class_of(&normalize(path, None), None).id
    }

    #[test]
    fn windows_paths_have_classes() {
        assert_eq!(class(r"C:\Users\me\.ssh\id_rsa"), "credentials");
        assert_eq!(class(r"c:\users\ME\.SSH\ID_RSA"), "credentials");
        assert_eq!(class(r"~\.aws\credentials"), "credentials");
        assert_eq!(class(r"C:\Users\me"), "home-whole");
        assert_eq!(class(r"C:\Users\me\"), "home-whole");
        assert_eq!(class(r"C:\"), "root");
        assert_eq!(class(r"C:\*"), "root");
        assert_eq!(class(r"D:\"), "root");
        assert_eq!(class(r"C:\Windows\System32\drivers\etc\hosts"), "system");
        assert_eq!(class(r"c:\WINDOWS"), "system-whole");
        assert_eq!(class(r"C:\Program Files\x"), "system");
        assert_eq!(class(r"build\out"), "project");
        assert_eq!(class(r".\build"), "project");
        assert_eq!(class(r"..\other"), "beside");
        assert_eq!(class(r"C:\Users\me\AppData\Local\Temp\x"), "temporary");
        assert_eq!(class(r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Run"), "autostart");
        assert_eq!(class(r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run"), "autostart");
        assert_eq!(class(r"Registry::HKEY_LOCAL_MACHINE\SAM"), "password-store");
        assert_eq!(class(r"C:\Windows\System32\config\SAM"), "password-store");
        assert_eq!(
            class(r"\\?\GLOBALROOT\Device\HarddiskVolumeShadowCopy1\Windows\System32\config\SAM"),
            "password-store"
        );
        assert_eq!(class(r"\\.\PhysicalDrive0"), "device");
        assert_eq!(class(r"C:\Users\me\.ssh\id_rsa::$DATA"), "credentials");
        assert_eq!(class(r"C:\Users\me\.ssh\id_rsa."), "credentials");
        assert_eq!(
            class(
                r"C:\Users\me\AppData\Roaming\Microsoft\Windows\Start Menu\Programs\Startup\x.lnk"
            ),
            "autostart"
        );
    }

    #[test]
    fn the_working_folder_is_the_project() {
        let seen = |path| normalize(path, Some(r"D:\code\app")).into_owned();
        assert_eq!(seen(r"D:\code\app\src\x.rs"), "src/x.rs");
        assert_eq!(seen(r"d:\Code\App"), ".");
        assert_eq!(seen(r"D:\code\application"), "/mnt/d/code/application");
        assert_eq!(seen(r"D:\code\app\.git\config"), "/mnt/d/code/app/.git/config");
    }

    #[test]
    fn other_hosts_are_told_from_this_one() {
        assert_eq!(share_host(r"\\evil\share\x"), Some("evil"));
        assert_eq!(share_host(r"\\localhost\c$\x"), None);
        assert_eq!(share_host(r"C:\x"), None);
    }
}
