//! Commands that reach every file of a folder, or the folder itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::{Policy, Verdict};

fn assessed(command: &str) -> Assessment {
    let text = serde_json::json!({
        "command": command, "session": "s", "cwd": "/home/ana/shop", "project": "/home/ana/shop",
    });
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

#[test]
fn overwriting_every_file_or_moving_the_project_asks() {
    for command in [
        "echo x | tee ../*",
        "cp a ../*",
        "sed -i s/a/b/ ../*",
        "mv $PWD /tmp/x",
        "mv . /tmp/x",
        "mv /home/ana/shop /tmp/x",
        "mv ../shop ../y",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    for command in [
        "echo x | tee a.txt",
        "sed -i s/a/b/ src/*.ts",
        "mv src lib",
        "mv build/* dist/",
        "cp -r . /tmp/copy",
        "ls ../*",
        "find . -name '*.mp3' -exec mv {} music/ \\;",
        "cat ../*/README.md",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}
