//! How certain the identity of an approver is, and how certain it must be for a call.
//!
//! A denial is accepted from every known person. What an approval may decide depends on how the
//! person authenticated: a chat account can be stolen together with a phone, so it never approves a
//! CRITICAL call.

use std::fmt;

use serde::Serialize;

use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;

/// How certain it is that this person answered, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Received the message: the person who holds the phone or reads the topic.
    Reached,
    /// An external account that the person linked to their name.
    Linked,
    /// Logged in to Countersign with a passphrase.
    Login,
    /// Signed this call with a passkey.
    Passkey,
}

impl Assurance {
    /// From weakest to strongest.
    pub const ALL: [Assurance; 4] =
        [Assurance::Reached, Assurance::Linked, Assurance::Login, Assurance::Passkey];

    /// The label used in every interface.
    pub const fn label(self) -> &'static str {
        match self {
            Assurance::Reached => "reached",
            Assurance::Linked => "linked",
            Assurance::Login => "login",
            Assurance::Passkey => "passkey",
        }
    }

    /// Parses a label.
    pub fn parse(text: &str) -> Option<Assurance> {
        Assurance::ALL.into_iter().find(|assurance| assurance.label() == text)
    }
}

/// The assurance that an approval requires, by tier. An operator may raise it above the minimum,
/// never lower it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredAssurance {
    /// For MEDIUM, and for LOW where it asks.
    pub medium: Assurance,
    /// For HIGH.
    pub high: Assurance,
    /// For CRITICAL.
    pub critical: Assurance,
}

impl Default for RequiredAssurance {
    fn default() -> Self {
        RequiredAssurance {
            medium: Assurance::Linked,
            high: Assurance::Linked,
            critical: Assurance::Login,
        }
    }
}

impl RequiredAssurance {
    /// The same, with at least this assurance for every tier.
    #[must_use]
    pub fn at_least(self, assurance: Option<Assurance>) -> RequiredAssurance {
        let Some(least) = assurance else { return self };
        RequiredAssurance {
            medium: self.medium.max(least),
            high: self.high.max(least),
            critical: self.critical.max(least),
        }
    }

    /// The minimum, regardless of the configuration.
    const fn floor(tier: Tier, crisis: bool) -> Assurance {
        match tier {
            Tier::Critical => Assurance::Login,
            _ if crisis => Assurance::Login,
            Tier::High => Assurance::Linked,
            Tier::Safe | Tier::Low | Tier::Medium => Assurance::Reached,
        }
    }

    /// The assurance required from a person with or without a passkey.
    pub fn of(&self, tier: Tier, crisis: bool, has_passkey: bool) -> Assurance {
        let set = match tier {
            Tier::Safe | Tier::Low | Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        let needed = set.max(RequiredAssurance::floor(tier, crisis));
        // A person with a passkey must sign with it: a stolen session alone must not be enough.
        if tier == Tier::Critical && has_passkey { Assurance::Passkey } else { needed }
    }
}

/// What a person may decide through the channel they use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority {
    /// How certain the identity of the person is.
    pub assurance: Assurance,
    /// The highest tier that this channel may approve.
    pub approves: Tier,
    /// Whether they have a passkey.
    pub has_passkey: bool,
    /// How long they have been able to answer this way.
    pub tenure: Tenure,
}

/// How long a person, or the account or passkey they answer with, has had the right to answer. A
/// stolen administrator session must not be able to create people who then approve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenure {
    /// When the right was given. Requests created earlier cannot be approved with it.
    pub since: Timestamp,
    /// When the waiting period ends; nothing is approved earlier.
    pub active_from: Timestamp,
}

impl Tenure {
    /// A right given at this time without a waiting period.
    pub const fn from(since: Timestamp) -> Tenure {
        Tenure { since, active_from: since }
    }

    /// The later of both times: a person is no older than the account they answer through.
    #[must_use]
    pub fn and(self, other: Tenure) -> Tenure {
        Tenure {
            since: self.since.max(other.since),
            active_from: self.active_from.max(other.active_from),
        }
    }
}

impl Authority {
    /// A person who logged in with a passphrase.
    pub const fn login(has_passkey: bool, tenure: Tenure) -> Authority {
        Authority { assurance: Assurance::Login, approves: Tier::Critical, has_passkey, tenure }
    }
}

/// Why an approval is not accepted. The request stays pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsufficientAssurance {
    /// A higher assurance is required.
    Required(Assurance),
    /// The channel approves no higher tier than this.
    ChannelLimit(Tier),
}

/// Whether a person with this authority may approve the call.
pub fn may_approve(
    needs: &RequiredAssurance,
    standing: Authority,
    tier: Tier,
    crisis: bool,
) -> Result<(), InsufficientAssurance> {
    let needed = needs.of(tier, crisis, standing.has_passkey);
    if standing.assurance < needed {
        Err(InsufficientAssurance::Required(needed))
    } else if tier > standing.approves {
        Err(InsufficientAssurance::ChannelLimit(standing.approves))
    } else {
        Ok(())
    }
}

impl fmt::Display for InsufficientAssurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InsufficientAssurance::Required(Assurance::Passkey) => {
                f.write_str("approval requires your passkey; open the request in the web inbox")
            }
            InsufficientAssurance::Required(Assurance::Login) => {
                f.write_str("approval requires a login; open the request in the inbox")
            }
            InsufficientAssurance::Required(Assurance::Linked | Assurance::Reached) => {
                f.write_str("approval requires an account that is linked to a person")
            }
            InsufficientAssurance::ChannelLimit(tier) => {
                write!(
                    f,
                    "this channel approves at most {}; open the request in the inbox",
                    tier.label()
                )
            }
        }
    }
}

impl std::error::Error for InsufficientAssurance {}

#[cfg(test)]
mod tests {
    use super::*;

    const TENURE: Tenure = Tenure::from(Timestamp(0));
    const TIERS: [Tier; 5] = [Tier::Safe, Tier::Low, Tier::Medium, Tier::High, Tier::Critical];

    /// Every tier, crisis or not, channel limit, assurance, passkey or none, and every setting.
    #[test]
    fn nothing_is_approved_below_the_minimum() {
        let mut approved = 0;
        for tier in TIERS {
            for crisis in [false, true] {
                for approves in TIERS {
                    for assurance in Assurance::ALL {
                        for has_passkey in [false, true] {
                            for setting in Assurance::ALL {
                                let needs = RequiredAssurance {
                                    medium: setting,
                                    high: setting,
                                    critical: setting,
                                };
                                let tenure = TENURE;
                                let standing =
                                    Authority { assurance, approves, has_passkey, tenure };
                                let may = may_approve(&needs, standing, tier, crisis).is_ok();
                                approved += u32::from(may);
                                if !may {
                                    continue;
                                }
                                assert!(assurance >= setting && tier <= approves);
                                assert!(tier < Tier::High || assurance >= Assurance::Linked);
                                let grave = tier == Tier::Critical || crisis;
                                assert!(!grave || assurance >= Assurance::Login);
                                let signs = tier == Tier::Critical && has_passkey;
                                assert!(!signs || assurance == Assurance::Passkey);
                            }
                        }
                    }
                }
            }
        }
        assert!(approved > 200, "the table lets nothing through: {approved}");
    }

    #[test]
    fn a_login_approves_everything_until_there_is_a_passkey() {
        let needs = RequiredAssurance::default();
        for tier in TIERS {
            assert_eq!(may_approve(&needs, Authority::login(false, TENURE), tier, true), Ok(()));
        }
        let signs = may_approve(&needs, Authority::login(true, TENURE), Tier::Critical, false);
        assert_eq!(signs, Err(InsufficientAssurance::Required(Assurance::Passkey)));
        assert_eq!(may_approve(&needs, Authority::login(true, TENURE), Tier::High, false), Ok(()));
    }

    #[test]
    fn a_rule_can_raise_what_an_approval_needs_and_never_lower_it() {
        let strict = RequiredAssurance {
            medium: Assurance::Login,
            high: Assurance::Passkey,
            critical: Assurance::Passkey,
        };
        for needs in [RequiredAssurance::default(), strict] {
            assert_eq!(needs.at_least(None), needs);
            for least in Assurance::ALL {
                for tier in TIERS {
                    let raised = needs.at_least(Some(least)).of(tier, false, false);
                    assert_eq!(raised, needs.of(tier, false, false).max(least));
                }
            }
        }
    }

    #[test]
    fn labels_are_parsed() {
        for assurance in Assurance::ALL {
            assert_eq!(Assurance::parse(assurance.label()), Some(assurance));
        }
        assert_eq!(Assurance::parse("Login"), None);
    }
}
