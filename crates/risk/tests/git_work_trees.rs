//! A command of git changes its index, its references and files that the command does not name.
//! None of them has a list of files, so there is no snapshot for it and it never runs before a
//! person is asked.

use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::file_changes::file_changes;
use countersign_risk::verdict::Policy;

fn has_list(command: &str) -> bool {
    let mut call = Call::shell(command);
    call.context.cwd = Some("/home/ana/shop");
    call.context.project = Some("/home/ana/shop");
    file_changes(&call, &assess(&call, &Policy::default())).is_some_and(|list| !list.is_empty())
}

#[test]
fn commands_of_git_have_no_list_of_files() {
    for command in [
        "git checkout -- .",
        "git checkout -- src/a.rs",
        "git checkout main",
        "git restore src/a.rs",
        "git restore --staged src/a.rs",
        "git stash",
        "git stash push src/a.rs",
        "git stash pop",
        "git reset",
        "git reset src/a.rs",
        "git reset --hard",
        "git switch other",
        "git clean -fd",
        "git rm src/a.rs",
        "git mv a b",
        "git add a",
        "git commit -m x",
        "git apply x.patch",
        "git -C . checkout -- a",
        "/usr/bin/git checkout -- a",
        "rm a && git stash",
        "git stash; rm a",
        "cd src && git checkout -- a.rs",
        "git checkout -- a > b",
    ] {
        assert!(!has_list(command), "{command}");
    }
    assert!(has_list("rm src/a.rs"));
}
