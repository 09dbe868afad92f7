//! Files that a program writes without a redirection: its second operand, the value of an option,
//! the file that it changes in place. Each of these was run and did change the file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use countersign_json as json;
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::{Policy, Verdict};

fn assessed(command: &str) -> Assessment {
    let text = serde_json::json!({
        "command": command, "session": "s", "cwd": "/srv/shop", "project": "/srv/shop",
    });
    let text = text.to_string();
    let value = json::parse(&text).unwrap();
    assess(&Call::from_json(&value).unwrap(), &Policy::default())
}

#[test]
fn a_file_outside_the_project_that_a_program_overwrites_asks() {
    for command in [
        "uniq - /etc/hosts",
        "uniq a /etc/hosts",
        "chmod -w /etc/hosts",
        "chmod -R -x /usr/bin",
        "chmod +x /etc/hosts",
        "perl -i -pe s/a/b/ /etc/hosts",
        "ruby -i -pe '$_' /etc/hosts",
        "clang-format -i /etc/hosts",
        "gzip /etc/hosts",
        "bzip2 -f /etc/hosts",
        "strip /usr/bin/sudo",
        "cjpeg -outfile /etc/hosts in.ppm",
        "bsdiff a b /etc/hosts",
        "cpp a.c /etc/hosts",
        "gcc --output=/etc/hosts a.c",
        "csvtool -o /etc/hosts a",
        "csvtool --outp=/etc/hosts a",
        "gcc --outp=/etc/hosts a.c",
        "eps2eps a.eps /etc/hosts",
        "lame a.wav /etc/hosts",
        "llvm-dwarfdump -o /etc/hosts a",
        "aria2c --log=/etc/hosts http://localhost/a",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Ask, "{command}: {:?}", seen.reasons);
    }
}

#[test]
fn the_same_programs_pass_where_they_only_read_or_write_in_the_project() {
    for command in [
        "uniq a",
        "uniq -c a b",
        "sort a | uniq -f 1",
        "chmod +x run.sh",
        "chmod -x run.sh",
        "perl -i -pe s/a/b/ src/a.txt",
        "clang-format -i src/a.c",
        "gzip -c /etc/hosts",
        "gzip a.log",
        "strip build/app",
        "gcc -o app main.c",
        "cpp a.c out.i",
        "lame a.wav a.mp3",
        "diff /etc/hosts a",
        "ls -o /etc",
    ] {
        let seen = assessed(command);
        assert_eq!(seen.verdict, Verdict::Allow, "{command}: {:?}", seen.reasons);
    }
}
