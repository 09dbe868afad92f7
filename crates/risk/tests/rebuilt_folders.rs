//! Parts of folders that the project's own tools make again: deleting one asks no more than
//! deleting the whole folder.

use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::context::Context;
use countersign_risk::verdict::{Policy, Verdict};

const PROJECT: &str = "/srv/shop";

fn verdict(command: &str, project: Option<&str>) -> Verdict {
    let mut call = Call::shell(command);
    call.context = Context { cwd: project, project, ..Context::default() };
    assess(&call, &Policy::default()).verdict
}

#[test]
fn a_part_of_a_rebuilt_folder_is_as_cheap_as_the_whole() {
    for command in [
        "rm -rf node_modules/left-pad",
        "rm -rf packages/web/dist/assets/",
        "rm -rf target/debug/incremental",
        "rm -rf /srv/shop/tmp/clones/a",
        "cd packages && rm -rf web/node_modules/.cache/x",
        "cd tmp && rm -rf clones",
    ] {
        assert_eq!(verdict(command, Some(PROJECT)), Verdict::Allow, "{command}");
    }
}

#[test]
fn what_only_looks_like_such_a_part_asks() {
    for command in [
        "rm -rf src",
        "rm -rf node_modules/../src",
        "rm -rf tmp/../src/a",
        "rm -rf ../target/release/a",
        "rm -rf /srv/other/target/a",
        "rm -rf ~/target/a",
        "rm -rf $DIR/target/a",
        "rm -rf target-data/a",
        "cd node_modules && rm -rf ../src/a",
    ] {
        assert_eq!(verdict(command, Some(PROJECT)), Verdict::Ask, "{command}");
    }
    // Where no folder is known, `tmp` may be anything.
    assert_eq!(verdict("rm -rf tmp/clones/a", None), Verdict::Ask);
}
