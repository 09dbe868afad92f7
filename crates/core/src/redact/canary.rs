//! Planted secrets of every kind in random calls, commands and addresses: none may survive.

use super::tests::{Dice, fill};
use super::*;
use crate::assess::assess;
use crate::call::Call;
use crate::json::Value;
use crate::verdict::Policy;

/// Secrets that are known by their form, wherever they stand.
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

/// Where such a secret may stand.
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

/// Where a password stands that has no form of its own.
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

fn plant(dice: &mut Dice) -> (String, Vec<String>) {
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

/// The text somewhere in a value; under a secret name now and then.
fn wrap(text: String, dice: &mut Dice) -> Value<'static> {
    let leaf = Value::String(text.into());
    let noise = || Value::String("ls -la".into());
    match dice.below(5) {
        0 => leaf,
        1 => Value::Array(vec![noise(), leaf, Value::Null]),
        2 => Value::Array(vec![noise(), leaf]),
        3 => Value::Object(vec![("x".into(), noise()), ("note".into(), leaf)]),
        _ => Value::String(Value::Object(vec![("deep".into(), leaf)]).to_json().into()),
    }
}

fn survivors(shown: &str, secrets: &[String]) -> bool {
    // The number of an account is no secret.
    let told = |secret: &str| secret.len() < 4 || secret.bytes().all(|b| b.is_ascii_digit());
    secrets.iter().any(|secret| !told(secret) && shown.contains(secret.as_str()))
}

#[test]
fn no_planted_secret_survives() {
    let mut dice = Dice(7);
    let mut seen = Vec::new();
    for _ in 0..4000 {
        let (text, secrets) = plant(&mut dice);
        let shown = redact_text(&text).text.into_owned();
        if survivors(&shown, &secrets) {
            seen.push(format!("text: {text}\n   as {shown}"));
        }
        let value = wrap(text, &mut dice);
        let shown = redact_value(&value).0.to_json();
        if survivors(&shown, &secrets) {
            seen.push(format!("value: {value}\n   as {shown}"));
        }
    }
    seen.sort();
    assert!(seen.is_empty(), "{} survive:\n{}", seen.len(), seen.join("\n"));
}

#[test]
fn no_planted_secret_survives_in_the_record_of_a_call() {
    let mut dice = Dice(11);
    let mut seen = Vec::new();
    for _ in 0..1000 {
        let (text, secrets) = plant(&mut dice);
        let call = Call::shell(&text);
        let assessment = assess(&call, &Policy::default());
        let shown = redact_call(&call, &assessment);
        let all = format!("{shown:?}");
        if survivors(&all, &secrets) {
            seen.push(format!("{text}\n   as {all}"));
        }
        for reason in &shown.reasons {
            let Some(span) = reason.span else { continue };
            let command = shown.arguments.pointer("/command").and_then(Value::as_str).unwrap();
            let old = assessment.reasons.iter().find(|r| r.code == reason.code).unwrap();
            let old = old.span.unwrap();
            let now = command.get(span.start as usize..span.end as usize).unwrap();
            let was = text.get(old.start as usize..old.end as usize).unwrap();
            assert!(now == was || now.contains(OPEN), "{was} became {now}");
        }
    }
    assert!(seen.is_empty(), "{} survive:\n{}", seen.len(), seen.join("\n"));
}
