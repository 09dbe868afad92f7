//! Random texts with planted secrets, for tests of every crate that stores or shows texts.

#![expect(clippy::indexing_slicing, reason = "test support only")]

use crate::tables::{class_bit, is_in};

/// A small generator that needs no clock: the same seed gives the same text.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % n
    }

    /// A random run of characters of a class.
    pub fn run(&mut self, class: &str, length: usize) -> String {
        let bit = class_bit(class);
        let all: Vec<char> = (0x21..0x7F_u8)
            .filter(|&b| is_in(b, bit) && (class != "base64" || b != b'='))
            .map(char::from)
            .collect();
        let mut text: String = (0..length).map(|_| all[self.below(all.len())]).collect();
        // Random enough for a secret: both letters and digits.
        if class != "digit" && length >= 4 {
            text.replace_range(1..3, "7A");
        }
        text
    }
}

/// An example with its random parts filled in, and those parts.
pub fn fill(example: &str, dice: &mut Dice) -> (String, Vec<String>) {
    let (mut text, mut secrets, mut rest) = (String::new(), Vec::new(), example);
    while let Some((head, tail)) = rest.split_once('<') {
        let Some((run, after)) = tail.split_once('>') else { break };
        let Some((class, length)) = run.split_once(' ') else { break };
        let Ok(length) = length.parse() else { break };
        text.push_str(head);
        let secret = dice.run(class, length);
        text.push_str(&secret);
        secrets.push(secret);
        rest = after;
    }
    text.push_str(rest);
    (text, secrets)
}

/// Secrets that are recognized by their form anywhere.
const SHAPES: &[&str] = &[
    "AKIA<upper 16>",
    "ghp_<alnum 36>",
    "gho_<alnum 36>",
    "ghs_<alnum 36>",
    "github_pat_<alnum 22>_<alnum 59>",
    "glpat-<alnum 20>",
    "xoxb-<digit 12>-<digit 12>-<alnum 24>",
    "sk_live_<alnum 24>",
    "rk_live_<alnum 24>",
    "sk-<alnum 48>",
    "sk-proj-<alnum 64>",
    "sk-ant-api03-<alnum 93>AA",
    "AIza<alnum 35>",
    "ya29.<alnum 100>",
    "npm_<alnum 36>",
    "pypi-AgE<alnum 100>",
    "SG.<alnum 22>.<alnum 43>",
    "SK<hex 32>",
    "<digit 10>:AA<alnum 33>",
    "M<alnum 25>.<alnum 6>.<alnum 38>",
    "eyJ<alnum 33>.eyJ<alnum 60>.<alnum 43>",
    "AGE-SECRET-KEY-1<upper 58>",
    "hvs.<alnum 90>",
    "dop_v1_<hex 64>",
    "hf_<alnum 34>",
    "csa_<alnum 43>",
    "csp_<alnum 43>",
    "-----BEGIN RSA PRIVATE KEY-----\n<base64 64>\n<base64 64>\n-----END RSA PRIVATE KEY-----",
];

/// Contexts in which such a secret may occur.
const PLACES: &[&str] = &[
    "{}",
    "echo {}",
    "echo '{}' > a.txt",
    "export X=\"{}\"",
    "curl https://a.example/x?y={}&z=1",
    "curl -d '{\"x\":\"{}\"}' https://a.example",
    "python3 -c 'f(\"{}\")'",
    "a, {}, b",
    "line\n{}\nline",
    "see ({}).",
    "key%3D{}%26",
    "\\n{}\\n",
    "git clone https://{}@host.example/a.git",
    "X={};ls",
    "[{}]",
    "<a>{}</a>",
    "`{}`",
];

/// Contexts of a password that has no form of its own.
const NAMED: &[&str] = &[
    "PGPASSWORD={} psql -c 'select 1'",
    "AWS_SECRET_ACCESS_KEY={} aws s3 ls",
    "mysql -u root -p{} shop",
    "mysql --password={} shop",
    "tool --password {} run",
    "tool --password '{}' run",
    "curl -u bob:{} https://a.example",
    "sshpass -p {} ssh bob@host",
    "curl -H 'Authorization: Bearer {}' https://a.example",
    "curl -H \"Authorization: Basic {}\" https://a.example",
    "curl -H 'Cookie: session={}' https://a.example",
    "curl https://a.example/?api_key={}&x=1",
    "psql postgres://bob:{}@db.example/app",
    "redis-cli -a {} flushall",
    "{\"password\": \"{}\"}",
    "{\\\"client_secret\\\":\\\"{}\\\"}",
    "password = \"{}\"",
    "db_password: {}",
    "docker login -u a -p {} r.example",
    "docker run -e DB_PASSWORD={} app",
    "AKIAABCDEFGHIJKLMNOP/{}",
];

/// A text with a secret in it, and the parts that must not be displayed.
pub fn plant(dice: &mut Dice) -> (String, Vec<String>) {
    if dice.below(2) == 0 {
        let (secret, parts) = fill(SHAPES[dice.below(SHAPES.len())], dice);
        (PLACES[dice.below(PLACES.len())].replace("{}", &secret), parts)
    } else {
        let place = NAMED[dice.below(NAMED.len())];
        let length = if place.starts_with("AKIA") { 40 } else { 8 + dice.below(24) };
        let mut secret = dice.run("alnum", length);
        secret.replace_range(3..4, "x");
        (place.replace("{}", &secret), vec![secret])
    }
}

/// Whether a secret is still readable.
pub fn survivors(shown: &str, secrets: &[String]) -> bool {
    // An account number is not a secret.
    let told = |secret: &str| secret.len() < 4 || secret.bytes().all(|b| b.is_ascii_digit());
    secrets.iter().any(|secret| !told(secret) && shown.contains(secret.as_str()))
}
