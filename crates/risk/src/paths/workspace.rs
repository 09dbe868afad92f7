//! The folders a session works in. A project is equally trusted wherever its folder is: paths
//! inside it are made relative to it before they are classified.

use std::borrow::Cow;

use super::guard::is_above_guarded;
use super::{class_of, normal};
use crate::context::Context;
use crate::name_lists::WORKTREE_ENDINGS;
use crate::paths::windows_path;
use countersign_shell::UNKNOWN;

/// Classes of folders that can be a project. The root, a whole home folder, system folders and
/// folders with a meaning of their own cannot.
const ORDINARY: [&str; 4] = ["home", "elsewhere", "shared-data", "temporary"];

/// Folders that everybody uses.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"];

/// The project of a call and the folder the call starts in.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Normalized root folders, the project first.
    roots: Vec<String>,
    /// The starting folder relative to its root, if it is below the root.
    start: Option<String>,
    /// The starting folder as it is called on the machine, not shortened to `~`.
    base: Option<String>,
    /// The starting folder is in the workspace.
    starts_inside: bool,
    /// Names are compared without regard to case, and `/d/x` is `D:\x`.
    windows: bool,
}

impl Workspace {
    /// The workspace that a context describes: its project, else its working directory. Empty if
    /// the context names neither.
    pub fn of(ctx: &Context<'_>) -> Workspace {
        let Some(project) = ctx.project.or(ctx.cwd) else { return Workspace::default() };
        let windows = [Some(project), ctx.cwd].into_iter().flatten().any(windows_path::is_windows);
        let mut workspace = Workspace { windows, ..Workspace::default() };
        workspace.base = base_folder(ctx.cwd.unwrap_or(project));
        workspace.add_root(project);
        if let Some(cwd) = ctx.cwd {
            // A worktree elsewhere, or another repository that the session entered.
            if workspace.below_root(&workspace.located(cwd)).is_none() {
                workspace.add_root(cwd);
            }
            let inside = workspace.below_root(&workspace.located(cwd));
            workspace.starts_inside = inside.is_some();
            workspace.start = inside.filter(|below| !below.is_empty());
        } else {
            workspace.starts_inside = !workspace.roots.is_empty();
        }
        workspace
    }

    /// Whether a workspace may be at this normalized folder, which nobody but the call names. A
    /// folder that everybody writes to, or that a program searches for code, may not.
    pub fn may_be(folder: &str) -> bool {
        let mut parts = folder.split('/');
        let is_shared = SHARED.iter().chain(&["/run", "/var/run"]).any(|shared| {
            folder.strip_prefix(shared).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if is_shared || parts.any(|part| part.starts_with('.') || part == "site-packages") {
            return false;
        }
        let mut workspace = Workspace::default();
        workspace.add_root(folder);
        workspace.is_known()
    }

    fn add_root(&mut self, folder: &str) {
        let root = self.located(folder);
        let absolute = root.starts_with('/') || root.starts_with("~/");
        let source = root.starts_with("/usr/src/");
        // A folder that everybody uses is nobody's project.
        let shared = SHARED.contains(&root.as_str());
        let ordinary = source || ORDINARY.contains(&class_of(&root, None).id);
        // A folder above Countersign's own files would make them part of the project.
        if absolute && ordinary && !shared && !is_above_guarded(&root) {
            self.roots.push(root);
        }
    }

    /// Whether the context names a project or a working directory.
    pub fn is_known(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The path in the form of the path classes: relative to its root if it is in the workspace.
    pub fn local<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let absolute = path.starts_with(['/', '~']) || windows_path::has_drive(path);
        if !absolute && !path.starts_with(UNKNOWN) {
            return self.relative(path);
        }
        if !absolute || self.roots.is_empty() {
            return Cow::Borrowed(path);
        }
        let whole = self.located(path);
        match self.below_root(&whole) {
            Some(below) if below.is_empty() => Cow::Owned(".".to_owned()),
            Some(below) => Cow::Owned(below),
            None => match self.beside_root(&whole) {
                Some(beside) => Cow::Owned(beside),
                None if whole == path => Cow::Borrowed(path),
                None => Cow::Owned(whole),
            },
        }
    }

    /// A path as seen from the starting folder. One that leaves the project is what it names there:
    /// `../../../etc/hosts` is `/etc/hosts`.
    fn relative<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.windows && path.contains('\\') {
            return Cow::Owned(self.relative(&path.replace('\\', "/")).into_owned());
        }
        let leaves = path.starts_with("..") || path.contains("/..");
        let Some(base) = self.base.as_ref().filter(|_| leaves || !self.starts_inside) else {
            return Cow::Borrowed(path);
        };
        let within = normal(path, self.start.as_deref());
        if self.starts_inside && !within.starts_with("..") {
            return within;
        }
        let whole = self.located(&format!("{base}/{path}"));
        if self.below_root(&whole).is_some() {
            return Cow::Owned(self.local(&whole).into_owned());
        }
        // Beside the project, and in the starting folder, an ordinary file is as near as any other.
        let class = class_of(&whole, None).id;
        if class == "home" || !leaves && class == "elsewhere" {
            return within;
        }
        Cow::Owned(self.beside_root(&whole).unwrap_or(whole))
    }

    /// A path in the folder that holds the project, seen from the project. Under a home folder such
    /// a path is as near as any other, and stays what it is.
    fn beside_root(&self, path: &str) -> Option<String> {
        let (parent, _) = self.roots.first()?.rsplit_once('/')?;
        if parent.is_empty() || class_of(path, None).id != "elsewhere" {
            return None;
        }
        let rest = path.strip_prefix(parent)?.strip_prefix('/')?;
        (!rest.is_empty()).then(|| format!("../{rest}"))
    }

    /// One name for a file, by whatever path it is reached from the working directory.
    pub fn identity(&self, path: &str, cwd: Option<&str>) -> String {
        let absolute = path.starts_with(['/', '~']) || windows_path::has_drive(path);
        let whole = match cwd {
            Some(cwd) if !absolute => self.located(&format!("{cwd}/{path}")),
            _ => self.located(path),
        };
        if self.windows { whole.to_ascii_lowercase() } else { whole }
    }

    /// An absolute path, normalized.
    fn located(&self, path: &str) -> String {
        if windows_path::has_drive(path) {
            return normal(&windows_path::normalize(path, None), None).into_owned();
        }
        if self.windows && path.contains('\\') {
            return self.located(&path.replace('\\', "/"));
        }
        if self.windows
            && let Some(drive) = windows_path::drive_of_posix(path)
        {
            return normal(&windows_path::normalize(&drive, None), None).into_owned();
        }
        normal(path, None).into_owned()
    }

    /// What is left of a path behind the root it is in.
    fn below_root(&self, path: &str) -> Option<String> {
        self.roots.iter().find_map(|root| {
            let rest = if self.windows {
                windows_path::fold_prefix(path, root)?
            } else {
                path.strip_prefix(root.as_str())?
            };
            if rest.is_empty() {
                return Some(String::new());
            }
            if let Some(below) = rest.strip_prefix('/') {
                return Some(below.to_owned());
            }
            // A worktree beside the project: `shop__worktrees/fix/src/a.rs`.
            let below = WORKTREE_ENDINGS.iter().find_map(|mark| rest.strip_prefix(mark))?;
            let (_, below) = below.strip_prefix('/')?.split_once('/')?;
            Some(below.to_owned())
        })
    }
}

/// A folder with its whole name; none if it is not absolute. Whose home `~` is does not matter
/// here, only that there are others next to it.
fn base_folder(folder: &str) -> Option<String> {
    if let Some(below) = folder.strip_prefix('~') {
        return Some(format!("/home/user/{}", below.trim_start_matches('/')));
    }
    let absolute = folder.starts_with('/') || windows_path::has_drive(folder);
    absolute.then(|| folder.trim_end_matches(['/', '\\']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(project: &str, cwd: Option<&str>, path: &str) -> String {
        let ctx = Context { project: Some(project), cwd, ..Context::default() };
        Workspace::of(&ctx).local(path).into_owned()
    }

    #[test]
    fn a_project_is_the_same_wherever_its_folder_is() {
        for (project, path) in [
            ("/home/ana/shop", "/home/ana/shop/src/a.rs"),
            ("/home/ana/shop", "~/shop/src/a.rs"),
            ("/workspaces/shop", "/workspaces/shop/src/../src/a.rs"),
            ("/app", "/app/src/a.rs"),
            ("/usr/src/app", "/usr/src/app/src/a.rs"),
            ("/private/var/folders/x/shop", "/var/folders/x/shop/src/a.rs"),
            ("D:\\shop", "D:\\shop\\src\\a.rs"),
            ("D:\\shop", "d:/Shop/src/a.rs"),
            ("D:\\shop", "/d/shop/src/a.rs"),
            ("D:\\shop", "/mnt/d/shop/src/a.rs"),
            ("C:\\Users\\ana\\shop", "/c/Users/ana/shop/src/a.rs"),
            ("/srv/shop", "/srv/shop__worktrees/fix-1/src/a.rs"),
        ] {
            assert_eq!(local(project, None, path), "src/a.rs", "{project} {path}");
        }
    }

    #[test]
    fn what_is_outside_stays_outside() {
        for (project, path, expected) in [
            ("/app", "/application/x", "/application/x"),
            ("/app", "/app/../etc/passwd", "/etc/passwd"),
            ("/", "/etc/passwd", "/etc/passwd"),
            ("/home/ana", "/home/ana/.ssh/id_rsa", "/home/ana/.ssh/id_rsa"),
            ("/etc", "/etc/passwd", "/etc/passwd"),
            ("/home/ana/.ssh", "/home/ana/.ssh/id_rsa", "/home/ana/.ssh/id_rsa"),
            ("D:\\", "D:\\x", "D:\\x"),
        ] {
            assert_eq!(local(project, None, path), expected, "{project} {path}");
        }
    }

    #[test]
    fn a_claim_cannot_make_more_than_a_folder_the_project() {
        for folder in [
            "/",
            "//",
            "/..",
            "/home",
            "/home/ana",
            "/home/ana/",
            "/home/ana/x/..",
            "~",
            "~/.",
            "/root",
            "/Users",
            "/Users/ana",
            "/etc",
            "/usr",
            "/usr/lib",
            "/var",
            "/var/lib",
            "/bin",
            "/opt",
            "/boot",
            "/dev",
            "/proc",
            "/run",
            "~/.local",
            "~/.local/state",
            "/home/ana/.local/state/countersign",
            "~/.config",
            "~/.config/countersign",
            "~/.ssh",
            "~/.claude",
            "relative",
            "",
            "C:\\",
            "C:\\Users",
            "C:\\Users\\ana",
            "C:\\Windows",
        ] {
            for ctx in [
                Context { project: Some(folder), ..Context::default() },
                Context { cwd: Some(folder), ..Context::default() },
            ] {
                let roots = Workspace::of(&ctx).roots;
                assert!(roots.is_empty(), "{folder:?}: {roots:?}");
            }
        }
    }

    #[test]
    fn a_folder_next_to_the_project_is_near_unless_it_means_something() {
        assert_eq!(local("/workspaces/shop", None, "/workspaces/lib/a.rs"), "../lib/a.rs");
        for (project, path) in [
            ("/app", "/other/a.rs"),
            ("/srv/shop", "/srv/www/index.html"),
            ("/opt/shop", "/opt/tool/run"),
            ("/workspaces/shop", "/etc/passwd"),
        ] {
            assert_eq!(local(project, None, path), path, "{project}");
        }
    }

    #[test]
    fn parent_folders_are_seen_from_the_starting_folder() {
        assert_eq!(local("/app", Some("/app/web/src"), "../package.json"), "web/package.json");
        assert_eq!(local("/app", Some("/app/web"), "../../etc/passwd"), "/etc/passwd");
        assert_eq!(local("/app", Some("/app"), "../etc/passwd"), "/etc/passwd");
        assert_eq!(local("/workspaces/a", Some("/workspaces/a"), "src/../../lib/x"), "../lib/x");
    }
}
