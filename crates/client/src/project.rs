//! The project of a call: the git repository that contains a folder.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How many folders are looked at; a path that is deeper has no project.
const MAX_LEVELS: usize = 64;

/// The closest folder that has a `.git`, at or above `start`. The root of the file system and the
/// folders above the home folder are never a project. Reads nothing but the names.
pub fn git_root(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !start.is_absolute() {
        return None;
    }
    let is_project = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let may_be_one = |folder: &&Path| {
        folder.parent().is_some() && home.is_none_or(|home| !home.starts_with(folder))
    };
    start
        .ancestors()
        .take(MAX_LEVELS)
        .take_while(may_be_one)
        .find(is_project)
        .map(Path::to_path_buf)
}

/// The user's home folder.
pub fn home_folder() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The project of this process's working directory, found once.
pub fn process_project() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let root = git_root(&env::current_dir().ok()?, home_folder().as_deref())?;
        root.into_os_string().into_string().ok()
    };
    FOUND.get_or_init(find).as_deref()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_closest_repository_is_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home/ana");
        let root = |start: &Path| git_root(start, Some(&home));
        let (shop, sub) = (home.join("shop"), home.join("shop/vendor/lib"));
        fs::create_dir_all(shop.join(".git")).unwrap();
        fs::create_dir_all(sub.join("src")).unwrap();
        assert_eq!(root(&shop.join("web/not/there")), Some(shop.clone()));
        assert_eq!(root(&shop), Some(shop));
        // A worktree or a submodule has a file of that name.
        fs::write(sub.join(".git"), "gitdir: ../../.git/modules/lib\n").unwrap();
        assert_eq!(root(&sub.join("src")), Some(sub));
        assert_eq!(root(Path::new("shop")), None);
    }

    #[test]
    fn the_home_folder_and_the_folders_above_it_are_no_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home/ana");
        fs::create_dir_all(home.join("work/x")).unwrap();
        for repository in [folder.path(), &folder.path().join("home"), &home] {
            fs::create_dir_all(repository.join(".git")).unwrap();
        }
        assert_eq!(git_root(&home.join("work/x"), Some(&home)), None);
        assert_eq!(git_root(&home, Some(&home)), None);
        let deep = home.join("a/".repeat(MAX_LEVELS + 8));
        assert_eq!(git_root(&deep, Some(Path::new("/elsewhere"))), None);
    }
}
