//! Where a command runs behind `cd`: code given as text, `pwd`, `OLDPWD`, and words that vanish.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::{Policy, Verdict};
use countersign_types::tier::Tier;

fn assessed(command: &str, cwd: &str) -> Assessment {
    let text = serde_json::json!({
        "command": command, "session": "s", "cwd": cwd, "project": "/home/ana/shop",
    });
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

fn in_project(command: &str) -> Assessment {
    assessed(command, "/home/ana/shop")
}

#[test]
fn code_runs_in_the_folder_that_the_shell_entered() {
    for command in [
        "cd /etc && python3 -c 'open(\"passwd\",\"w\").write(\"x\")'",
        "cd ~/.ssh; node -e 'require(\"fs\").writeFileSync(\"authorized_keys\", \"x\")'",
        "cd / && python3 -c 'import os; os.system(\"rm -rf etc\")'",
        "(cd ~ && python3 -c 'import shutil; shutil.rmtree(\".ssh\")')",
        "pushd /etc && perl -e 'unlink \"passwd\"'",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    for command in [
        "cd src && python3 -c 'open(\"a.txt\",\"w\").write(\"x\")'",
        "cd /home/ana/shop/src && python3 -c 'open(\"a.txt\",\"w\").write(\"x\")'",
        "cd /tmp && python3 -c 'open(\"a.txt\",\"w\").write(\"x\")'",
        "cd /etc && python3 -c 'print(open(\"hosts\").read())'",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn code_that_changes_its_own_folder_writes_there() {
    for command in [
        "python3 -c 'import os; os.chdir(\".git/hooks\"); open(\"pre-commit\",\"w\").write(\"x\")'",
        "python3 -c 'import os; os.chdir(\"/home/ana/.claude\"); open(\"settings.json\",\"w\")'",
        "python3 -c 'import os; os.chdir(\"/home/ana\"); os.chdir(\".ssh\"); open(\"c\",\"a\")'",
        "python3 -c 'from contextlib import chdir\nwith chdir(\"/etc/cron.d\"): open(\"x\",\"w\")'",
        "python3 -c 'd=\"/etc/cron.d\"\nimport os\nos.chdir(d)\nopen(\"x\",\"w\").write(\"k\")'",
        "python3 -c 'import os; os.chdir(\"/etc/cron.d\"); os.system(\"echo x > y\")'",
        "python3 - <<'E'\nimport os\nos.chdir('/etc/cron.d')\nopen('x','w').write('k')\nE",
        "node -e 'process.chdir(\"/etc/cron.d\"); require(\"fs\").writeFileSync(\"x\",\"k\")'",
        "ruby -e 'Dir.chdir(\"/etc/cron.d\"); File.write(\"x\", \"k\")'",
        "php -r 'chdir(\"/etc/cron.d\"); file_put_contents(\"x\", \"k\");'",
        "perl -e 'chdir(\"/home/ana/.ssh\"); open(F,\">authorized_keys\"); print F \"k\"'",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    // A program that code starts asks anyway; where it starts makes it more severe.
    for command in [
        "python3 -c 'import os,subprocess as s; s.run(\"ls>y\", shell=True, cwd=\"/etc/cron.d\")'",
        "python3 -c 'import subprocess as s; s.run([\"tee\", \"y\"], cwd=\"/etc/cron.d\")'",
        "node -e 'require(\"child_process\").execSync(\"echo x > y\", {cwd: \"/etc/cron.d\"})'",
    ] {
        let seen = in_project(command);
        assert!(seen.tier >= Tier::High, "{command}: {:?}", seen.reasons);
    }
    for command in [
        "python3 -c 'import os; os.chdir(\"src\"); open(\"a.txt\",\"w\").write(\"x\")'",
        "python3 -c 'import os; os.chdir(\"/home/ana/shop\"); open(\"a.txt\",\"w\")'",
        "python3 -c 'import os; os.chdir(\"/etc\"); print(open(\"hosts\").read())'",
        "node -e 'process.chdir(\"src\"); require(\"fs\").writeFileSync(\"x.txt\",\"k\")'",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}

/// A call whose folder was not told.
fn without_folder(command: &str, host: Option<&str>) -> Assessment {
    let text = match host {
        Some(host) => serde_json::json!({ "command": command, "session": "s", "host": host }),
        None => serde_json::json!({ "command": command, "session": "s" }),
    };
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

#[test]
fn code_that_enters_a_project_by_name_is_assessed_by_what_it_does() {
    const READS: &str = "python3 -c 'import json; print(len(json.load(open(\"a.json\"))))'";
    let seen = without_folder(&format!("cd /data/ana/shop && {READS}"), Some("Cursor"));
    assert_eq!(seen.verdict, Verdict::Allow, "{:?}", seen.reasons);
    // Without the name of an agent program it asks.
    let seen = without_folder(&format!("cd /data/ana/shop && {READS}"), None);
    assert_eq!(seen.verdict, Verdict::Ask, "{:?}", seen.reasons);
    for command in [
        READS.to_owned(),
        // `cd` may fail.
        format!("cd /data/ana/shop; {READS}"),
        format!("cd /tmp && {READS}"),
        format!("cd /tmp/x && {READS}"),
        format!("cd /dev/shm/x && {READS}"),
        format!("cd /private/tmp/x && {READS}"),
        format!("cd /run/user/1000/x && {READS}"),
        format!("cd ~/.local/lib/python3.11/site-packages && {READS}"),
        "cd /data/ana/shop && ssh h \"python3 -c 'open(1,2)'\"".to_owned(),
        "cd /data/ana/shop && docker exec web python3 -c 'open(\"a\",\"w\")'".to_owned(),
        format!("cd /etc && {READS}"),
        format!("cd / && {READS}"),
        format!("cd ~ && {READS}"),
        format!("cd ~/.ssh && {READS}"),
        format!("cd src && {READS}"),
        format!("cd $WHERE && {READS}"),
        "cd /data/ana/shop && python3 -c 'import os; os.system(\"rm -rf /data\")'".to_owned(),
        "cd /data/ana/shop && python3 -c 'open(\"/etc/hosts\",\"w\").write(\"x\")'".to_owned(),
        "cd /data/ana/shop && python3 -c 'exec(input())'".to_owned(),
    ] {
        let seen = without_folder(&command, Some("Cursor"));
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn the_folder_by_another_name_is_the_same_folder() {
    for command in [
        "mv $(pwd) /tmp/x",
        "mv \"$(pwd)\" /tmp/x",
        "cd src; mv $OLDPWD ~/Documents",
        "cd .. && mv $OLDPWD /tmp/x",
        "mv $(cd ..; pwd)/.ssh ./build",
        "D=$(pwd); cd /tmp; rm -rf $D",
        "D=$(cd .. && pwd); rm -rf $D/.ssh",
        "cd /etc && rm -rf $(pwd)",
        "ssh host 'rm -rf $(pwd)/node_modules'",
        "ssh host 'rm -rf node_modules'",
        "ssh host 'rm -rf node_modules/left-pad'",
        "cat ~/.local/state/countersign/login.token",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    // From a folder of the project, names relative to it are not mixed up with names of the root.
    let seen = assessed("cd ../..; rm -rf $(pwd)", "/home/ana/shop/src");
    assert_eq!(seen.verdict, Verdict::Ask, "{:?}", seen.reasons);
    for command in ["rm -rf $(pwd)/node_modules", "cd src && ls $OLDPWD", "echo $(pwd)"] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn a_last_word_that_may_be_nothing_makes_the_one_before_it_the_target() {
    for command in [
        "cp /etc/{hosts,passwd} $w",
        "cp evil ~/.bashrc $w",
        "mv a ~/.ssh/authorized_keys $w",
        "install -m 755 evil /usr/bin/sudo $w",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    for command in ["cp a b $w", "cp a.txt src/b.txt $w"] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn a_login_as_another_user_and_a_search_run_their_command_elsewhere() {
    for command in [
        "sudo -i ./install.sh",
        "sudo -iu deploy ./install.sh",
        "sudo --login ./install.sh",
        "find .. -name x -execdir ./run {} \\;",
        "find / -name x -execdir ./run {} \\;",
        "find ~ -name x -execdir ./run {} \\;",
        "find /opt -type d -execdir rm -f notes.txt \\;",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
    for command in [
        "find . -name '*.ts' -execdir ls {} \\;",
        "find /etc -name hosts -execdir cat {} \\;",
        "find src -name '*.md' -execdir grep -l x {} +",
        "sudo -i true",
    ] {
        let seen = in_project(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}
