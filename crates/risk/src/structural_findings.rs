//! Findings that come from structure, not from one program's rule: their codes and sentences.

use countersign_types::tier::Tier;

/// A structural finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// Stable code.
    pub code: &'static str,
    /// Cost.
    pub tier: Tier,
    /// Sentence.
    pub message: &'static str,
    /// The safer way.
    pub suggestion: Option<&'static str>,
}

const fn sign(code: &'static str, tier: Tier, message: &'static str) -> Sign {
    Sign { code, tier, message, suggestion: None }
}

/// The text cannot be read to its end.
pub const UNREADABLE: Sign = sign(
    "shell.unreadable",
    Tier::Medium,
    "Cannot be read to its end, so part of what it would do is unknown.",
);
/// Longer than we look at.
pub const TOO_LONG: Sign =
    sign("shell.too-long", Tier::High, "Is longer than anything that can be checked.");
/// Nested deeper than we follow.
pub const TOO_DEEP: Sign = sign(
    "shell.too-deep",
    Tier::High,
    "Hides commands inside commands deeper than can be followed.",
);
/// More commands than we follow.
pub const TOO_MANY: Sign =
    sign("shell.too-many", Tier::High, "Holds more commands than can be followed.");
/// The program is only known when it runs.
pub const DYNAMIC: Sign = sign(
    "shell.dynamic-program",
    Tier::Medium,
    "Which program runs is only decided while it runs.",
);
/// The folder of a program is only known when it runs.
pub const UNKNOWN_FOLDER: Sign = sign(
    "shell.program-in-open-folder",
    Tier::Low,
    "Runs a familiar program from a folder that is only decided while it runs.",
);
/// A program of unknown name, deleting recursively at a place that matters.
pub const DYNAMIC_DELETE: Sign = sign(
    "shell.dynamic-delete",
    Tier::High,
    "Runs a program of unknown name with the options of a recursive delete.",
);
/// Code from the network, run at once.
pub const REMOTE_CODE: Sign = Sign {
    code: "shell.remote-code",
    tier: Tier::Medium,
    message: "Runs code from the internet without a review.",
    suggestion: Some("Download it to a file, read it, then run the file."),
};
/// The same under worse conditions.
pub const REMOTE_CODE_WORSE: Sign = Sign {
    code: "shell.remote-code.unprotected",
    tier: Tier::High,
    message: "Runs code from the internet unread: as root, unencrypted, or from a bare address.",
    suggestion: Some("Download it over https to a file, read it, then run the file."),
};
/// Decoded text, run at once.
pub const DECODED_CODE: Sign =
    sign("shell.decoded-code", Tier::High, "Decodes hidden text and runs it.");
/// Unknown text, run as commands.
pub const UNSEEN_CODE: Sign =
    sign("shell.unseen-code", Tier::Medium, "Runs commands whose text is not shown here.");
/// An interactive shell.
pub const SHELL_SESSION: Sign = sign(
    "shell.session",
    Tier::Medium,
    "Opens an interactive session; what is typed into it is not checked.",
);
/// A shell given `-c`.
pub const SHELL_TEXT: Sign =
    sign("shell.inline", Tier::Medium, "Runs commands handed to a shell as text.");
/// Code given to an interpreter.
pub const INLINE_CODE: Sign =
    sign("shell.inline-code", Tier::Medium, "Runs program code handed over as text.");
/// A function that starts copies of itself.
pub const FORK_BOMB: Sign = sign(
    "shell.fork-bomb",
    Tier::Critical,
    "Starts endless copies of itself until the machine stops responding.",
);
/// A script that the session wrote.
pub const SESSION_SCRIPT: Sign = sign(
    "session.script",
    Tier::Safe,
    "Runs a file that this session wrote; the file's text was assessed.",
);
/// A loop without end that starts processes.
pub const ENDLESS_PROCESSES: Sign = sign(
    "shell.endless-processes",
    Tier::High,
    "Starts processes in a loop without end, until the machine stops responding.",
);
/// Secret data meets the network.
pub const EXFILTRATION: Sign = sign(
    "exfiltration.secret-sent",
    Tier::Critical,
    "Reads keys, passwords or tokens and sends them out over the network.",
);
/// A folder with much more than a project is offered to the network.
pub const SERVES_FOLDER: Sign = sign(
    "exfiltration.serves-folder",
    Tier::Medium,
    "Offers every file of a home or system folder to other machines.",
);
/// A change on a host that is called production.
pub const PRODUCTION_HOST: Sign =
    sign("context.production-host", Tier::Medium, "Makes changes on a production host.");
/// A change in a context, profile or account that is called production.
pub const PRODUCTION_CONTEXT: Sign = sign(
    "context.production-context",
    Tier::Medium,
    "Changes something in the cluster, engine or account that is current, whose name says \
     production.",
);
/// A push to a host that the project does not come from.
pub const PUSH_OTHER_HOST: Sign = sign(
    "git.push.other-host",
    Tier::Medium,
    "Sends the repository to another host than its origin.",
);
/// A local file leaves the machine.
pub const UPLOAD: Sign =
    sign("exfiltration.upload", Tier::Medium, "Sends a local file to another machine.");
/// A connection handed to a shell.
pub const REVERSE_SHELL: Sign = sign(
    "exfiltration.reverse-shell",
    Tier::Critical,
    "Gives a machine on the network a shell on this machine.",
);
/// Raw network connection through the shell.
pub const RAW_SOCKET: Sign = sign(
    "exfiltration.raw-socket",
    Tier::Medium,
    "Talks to another machine through a raw connection of the shell.",
);
/// Adds to a file outside the project.
pub const ADDS_ELSEWHERE: Sign = sign("path.add", Tier::Low, "Adds to files outside the project.");
/// A file written here and run.
pub const WRITE_AND_RUN: Sign =
    sign("shell.write-and-run", Tier::Medium, "Writes a program and runs it in one go.");
/// Unknown program.
pub const UNKNOWN_PROGRAM: Sign =
    sign("shell.unknown-program", Tier::Low, "Runs a program Countersign has no description of.");
/// Unknown program as root.
pub const UNKNOWN_AS_ROOT: Sign = sign(
    "shell.unknown-as-root",
    Tier::Medium,
    "Runs a program Countersign has no description of, with full rights.",
);
/// A program file in a scratch or hidden place.
pub const ODD_PLACE: Sign = sign(
    "shell.program-in-odd-place",
    Tier::Medium,
    "Runs a program from a temporary or hidden folder.",
);
/// A program outside the project and the system's folders.
pub const PROGRAM_AWAY: Sign = sign(
    "shell.program-outside-project",
    Tier::Medium,
    "Runs a program from outside the project that Countersign has no description of.",
);
/// Hidden characters.
pub const HIDDEN: Sign = sign(
    "text.hidden-characters",
    Tier::Medium,
    "Holds invisible or look-alike characters, so it is not what it seems to be.",
);
/// Terminal code that fills the clipboard.
pub const CLIPBOARD: Sign =
    sign("text.clipboard-code", Tier::Medium, "Secretly puts text into the clipboard.");
/// A host in letters that imitate others.
pub const STRANGE_HOST: Sign = sign(
    "network.strange-host",
    Tier::Medium,
    "The server's name holds letters that can imitate another name.",
);
/// Writes with more rights.
pub const AS_ROOT: Sign = sign("context.root", Tier::Safe, "Runs with full rights.");
