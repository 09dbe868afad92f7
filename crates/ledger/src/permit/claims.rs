//! The claims of a permit, as canonical JSON.

use super::PermitError;
use countersign_json::canonical::{self as canon, CallDigest, Digest};
use countersign_json::{self as json, Value};
use countersign_types::tier::Tier;

/// The latest time in seconds that every JSON parser reads as an exact integer.
const MAX_TIME: i64 = (1 << 53) - 1;

/// The claims of a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Who issued it.
    pub iss: String,
    /// When it was issued, in seconds since 1970.
    pub iat: i64,
    /// When it expires, in seconds since 1970.
    pub exp: i64,
    /// Its id, which makes it single-use.
    pub jti: String,
    /// The agent it is for.
    pub sub: String,
    /// The executor it is for; if absent, any executor that trusts the key.
    pub aud: Option<String>,
    /// The request that was decided.
    pub request: String,
    /// The tool, for people. The digest is what binds.
    pub tool: String,
    /// The canonical digest of the call.
    pub digest: Digest,
    /// The digest of the argument bytes as they were received.
    pub raw_digest: Digest,
    /// Whether both digests must match.
    pub both_bind: bool,
    /// The agent's session, if it named one.
    pub session: Option<String>,
    /// The hash of the policy under which it was decided.
    pub policy: Digest,
    /// The assessed tier of the call.
    pub tier: Tier,
    /// Who decided.
    pub decided_by: String,
    /// The channel of the decision.
    pub channel: String,
    /// The grant it rests on, if any.
    pub grant: Option<String>,
}

/// All claims; `aud`, `grant` and `session` may be absent.
const KNOWN: [&str; 17] = [
    "aud",
    "both_bind",
    "channel",
    "decided_by",
    "digest",
    "exp",
    "grant",
    "iat",
    "iss",
    "jti",
    "policy",
    "raw_digest",
    "request",
    "session",
    "sub",
    "tier",
    "tool",
];

impl Claims {
    /// The digests that bind it to its call.
    pub const fn call(&self) -> CallDigest {
        CallDigest { canonical: self.digest, raw: self.raw_digest, both_bind: self.both_bind }
    }

    /// The claims as canonical JSON.
    pub fn to_json(&self) -> String {
        let text = |text: &str| Some(Value::String(text.to_owned().into()));
        let number = |number: i64| Some(Value::Number(number.to_string().into()));
        let digest = |digest: &Digest| text(&digest.to_string());
        let members = [
            ("aud", self.aud.as_deref().and_then(text)),
            ("both_bind", Some(Value::Bool(self.both_bind))),
            ("channel", text(&self.channel)),
            ("decided_by", text(&self.decided_by)),
            ("digest", digest(&self.digest)),
            ("exp", number(self.exp)),
            ("grant", self.grant.as_deref().and_then(text)),
            ("iat", number(self.iat)),
            ("iss", text(&self.iss)),
            ("jti", text(&self.jti)),
            ("policy", digest(&self.policy)),
            ("raw_digest", digest(&self.raw_digest)),
            ("request", text(&self.request)),
            ("session", self.session.as_deref().and_then(text)),
            ("sub", text(&self.sub)),
            ("tier", text(self.tier.label())),
            ("tool", text(&self.tool)),
        ];
        let members = members.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
        canon::canonical(&Value::Object(members.collect())).text
    }

    /// Parses claims. Only the bytes that `to_json` writes are accepted.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Claims, PermitError> {
        let value = json::parse_bytes(bytes).map_err(|_| PermitError::Payload)?;
        let members = value.as_object().ok_or(PermitError::Payload)?;
        if members.iter().any(|(key, _)| !KNOWN.contains(&&**key)) {
            return Err(PermitError::Claim("unknown"));
        }
        let claims = Claims::from_value(&value)?;
        claims.check_times()?;
        if claims.to_json().as_bytes() == bytes {
            Ok(claims)
        } else {
            Err(PermitError::NotCanonical)
        }
    }

    fn from_value(value: &Value<'_>) -> Result<Claims, PermitError> {
        let claim = |name: &'static str| value.get(name).ok_or(PermitError::Claim(name));
        let text = |name: &'static str| {
            claim(name)?.as_str().map(str::to_owned).ok_or(PermitError::Claim(name))
        };
        let optional = |name| value.get(name).map(|_| text(name)).transpose();
        let number = |name: &'static str| {
            let digits = claim(name)?.as_number().and_then(|digits| digits.parse().ok());
            digits.ok_or(PermitError::Claim(name))
        };
        let digest = |name| text(name)?.parse::<Digest>().map_err(|_| PermitError::Claim(name));
        let tier = text("tier")?;
        let tier = Tier::ALL.into_iter().find(|known| known.label() == tier);
        Ok(Claims {
            iss: text("iss")?,
            iat: number("iat")?,
            exp: number("exp")?,
            jti: text("jti")?,
            sub: text("sub")?,
            aud: optional("aud")?,
            request: text("request")?,
            tool: text("tool")?,
            digest: digest("digest")?,
            raw_digest: digest("raw_digest")?,
            both_bind: claim("both_bind")?.as_bool().ok_or(PermitError::Claim("both_bind"))?,
            session: optional("session")?,
            policy: digest("policy")?,
            tier: tier.ok_or(PermitError::Claim("tier"))?,
            decided_by: text("decided_by")?,
            channel: text("channel")?,
            grant: optional("grant")?,
        })
    }

    /// A permit must end after it begins.
    pub(super) fn check_times(&self) -> Result<(), PermitError> {
        if !(0..MAX_TIME).contains(&self.iat) {
            return Err(PermitError::Claim("iat"));
        }
        if self.exp <= self.iat || self.exp > MAX_TIME {
            return Err(PermitError::Claim("exp"));
        }
        Ok(())
    }
}
