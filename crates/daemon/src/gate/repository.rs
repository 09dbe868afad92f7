//! The repository that a call runs in, as the daemon finds it on its own machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_risk::context::Context;

use super::caller::Caller;

/// How many folders are looked at; a path that is deeper is in no repository.
const MAX_LEVELS: usize = 64;

/// How long a file system may take to answer.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// The repository of a call, with every symlink resolved. None if the daemon cannot see it, the
/// caller is not a hook of this machine, or the call claims another project than its folder is in:
/// then no approval for the repository can be given or used.
pub(super) async fn find(caller: &Caller, context: &Context<'_>) -> Option<String> {
    let folder = PathBuf::from(context.cwd.filter(|_| caller.is_socket_peer)?);
    let claimed = context.project.map(PathBuf::from);
    let look = tokio::task::spawn_blocking(move || root(&folder, claimed.as_deref()));
    tokio::time::timeout(LOOK_TIME, look).await.ok()?.ok()?
}

/// The closest folder that has a `.git`, at or above a folder.
fn root(folder: &Path, claimed: Option<&Path>) -> Option<String> {
    if !folder.is_absolute() {
        return None;
    }
    let folder = fs::canonicalize(folder).ok()?;
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    // A repository at the root or around all projects of a person says nothing.
    let may_be_one = |folder: &&Path| {
        folder.parent().is_some() && home.as_ref().is_none_or(|home| !home.starts_with(folder))
    };
    let mut above = folder.ancestors().take(MAX_LEVELS).take_while(may_be_one);
    let root = above.find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let is_claimed = |claimed: &Path| {
        claimed.is_absolute() && fs::canonicalize(claimed).is_ok_and(|claimed| claimed == root)
    };
    claimed.is_none_or(is_claimed).then(|| root.to_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_found_where_the_call_runs() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (shop, other, loose) = (base.join("shop"), base.join("other"), base.join("loose"));
        for repository in [&shop, &other] {
            fs::create_dir_all(repository.join(".git")).unwrap();
            fs::create_dir_all(repository.join("src")).unwrap();
        }
        fs::create_dir_all(&loose).unwrap();
        let shown = |path: &Path| path.to_str().map(str::to_owned);
        assert_eq!(root(&shop.join("src"), None), shown(&shop));
        assert_eq!(root(&shop.join("src"), Some(&shop)), shown(&shop));
        // Another project than the folder is in, and a folder that is in none.
        assert_eq!(root(&shop.join("src"), Some(&other)), None);
        assert_eq!(root(&shop, Some(&base.join("missing"))), None);
        assert_eq!(root(&shop.join("../other/src"), Some(&shop)), None);
        assert_eq!(root(&loose, None), None);
        assert_eq!(root(Path::new("shop"), None), None);
        // A link is the repository that it leads to now.
        let link = base.join("link");
        std::os::unix::fs::symlink(&shop, &link).unwrap();
        assert_eq!(root(&link.join("src"), Some(&link)), shown(&shop));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert_eq!(root(&link.join("src"), Some(&link)), shown(&other));
    }
}
