//! Configurations of push notifications, as each version of the protocol writes them.

use countersign_net::{HttpUrl, address};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::dialect::ProtocolDialect;
use crate::error::A2aError;
use crate::object::set;

/// The longest parts of a configuration, in bytes.
const MAX_URL: usize = 2048;
const MAX_SECRET: usize = 4096;
const MAX_ID: usize = 128;

/// Where the sender of a task wants to be told about it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushConfig {
    /// Its id; empty until the node has made one.
    pub id: String,
    /// The receiver.
    pub url: String,
    /// A text that the receiver recognizes.
    pub token: Option<String>,
    /// The HTTP authentication scheme.
    pub scheme: Option<String>,
    /// The credentials of that scheme.
    pub credentials: Option<String>,
    /// Whether the receiver speaks version 0.3.
    pub is_old: bool,
    /// The certificate of the peer that made the configuration, in base64. Without its trust
    /// nothing is delivered.
    pub certificate: String,
}

/// Without its secrets; the path of a URL may be one as well.
impl std::fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PushConfig").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A method about configurations, with the id of its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushMethod {
    /// Adds one, or replaces the one with the same id.
    Create(String, Box<PushConfig>),
    /// Reads one; without an id the first one.
    Get(String, Option<String>),
    /// Reads all.
    List(String),
    /// Removes one.
    Delete(String, String),
}

/// The method with this name, if it is about configurations.
pub fn push_method(
    name: &str,
    params: &Map<String, Value>,
) -> Option<(ProtocolDialect, Result<PushMethod, A2aError>)> {
    use ProtocolDialect::{V1, V03};
    Some(match name {
        "CreateTaskPushNotificationConfig" => (V1, create(params, V1)),
        "tasks/pushNotificationConfig/set" => (V03, create(params, V03)),
        "GetTaskPushNotificationConfig" => {
            let id = required(params, "id").map(Some);
            (V1, id.and_then(|id| Ok(PushMethod::Get(required(params, "taskId")?, id))))
        }
        "tasks/pushNotificationConfig/get" => {
            let id = optional(params, "pushNotificationConfigId", MAX_ID);
            (V03, id.and_then(|id| Ok(PushMethod::Get(required(params, "id")?, id))))
        }
        "ListTaskPushNotificationConfigs" => (V1, required(params, "taskId").map(PushMethod::List)),
        "tasks/pushNotificationConfig/list" => (V03, required(params, "id").map(PushMethod::List)),
        "DeleteTaskPushNotificationConfig" => {
            let id = required(params, "id");
            (V1, id.and_then(|id| Ok(PushMethod::Delete(required(params, "taskId")?, id))))
        }
        "tasks/pushNotificationConfig/delete" => {
            let id = required(params, "pushNotificationConfigId");
            (V03, id.and_then(|id| Ok(PushMethod::Delete(required(params, "id")?, id))))
        }
        _ => return None,
    })
}

fn create(params: &Map<String, Value>, dialect: ProtocolDialect) -> Result<PushMethod, A2aError> {
    let task = required(params, "taskId")?;
    let config = match params.get("pushNotificationConfig") {
        Some(Value::Object(nested)) => PushConfig::read(nested, dialect)?,
        _ => PushConfig::read(params, dialect)?,
    };
    Ok(PushMethod::Create(task, Box::new(config)))
}

/// The configuration that the parameters of a send carry, if they carry one.
pub fn config_of_send(
    configuration: Option<&Map<String, Value>>,
    dialect: ProtocolDialect,
) -> Result<Option<PushConfig>, A2aError> {
    let names = ["taskPushNotificationConfig", "pushNotificationConfig"];
    let found = names.iter().find_map(|name| {
        configuration.and_then(|all| all.get(*name)).filter(|value| !value.is_null())
    });
    let Some(found) = found else { return Ok(None) };
    let members = found.as_object();
    let members = members.ok_or_else(|| invalid("the push configuration must be an object"))?;
    let members = match members.get("pushNotificationConfig") {
        Some(Value::Object(nested)) => nested,
        _ => members,
    };
    PushConfig::read(members, dialect).map(Some)
}

impl PushConfig {
    fn read(all: &Map<String, Value>, dialect: ProtocolDialect) -> Result<PushConfig, A2aError> {
        let authentication = all.get("authentication").and_then(Value::as_object);
        let inner = |name: &str| authentication.and_then(|all| all.get(name));
        let scheme = match inner("scheme") {
            None => inner("schemes").and_then(|list| list.as_array()?.first()),
            one => one,
        };
        let scheme = scheme.and_then(Value::as_str).filter(|text| !text.is_empty());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if scheme.is_some_and(|text| text.len() > 64 || !text.bytes().all(plain)) {
            return Err(invalid("authentication.scheme is not the name of a scheme"));
        }
        let credentials = match authentication {
            Some(all) => optional(all, "credentials", MAX_SECRET)?,
            None => None,
        };
        if scheme.is_none() && credentials.is_some() {
            return Err(invalid("authentication.scheme is required"));
        }
        let url = optional(all, "url", MAX_URL)?.ok_or_else(|| invalid("url is required"))?;
        Ok(PushConfig {
            id: optional(all, "id", MAX_ID)?.unwrap_or_default(),
            url,
            token: optional(all, "token", MAX_SECRET)?,
            scheme: scheme.map(ToOwned::to_owned),
            credentials,
            is_old: dialect == ProtocolDialect::V03,
            certificate: String::new(),
        })
    }

    /// The receiver, if this node may tell it anything.
    pub fn receiver(&self, allow_private: bool) -> Result<HttpUrl, A2aError> {
        let url = HttpUrl::parse(&self.url).map_err(invalid)?;
        if allow_private {
            return Ok(url);
        }
        if !url.is_https() {
            return Err(invalid("url must begin with https://"));
        }
        let literal = url.host().parse().ok();
        let is_local = url.host().eq_ignore_ascii_case("localhost");
        if is_local || literal.is_some_and(|literal| !address::is_public(literal)) {
            return Err(invalid("url must not be of this machine or a private network"));
        }
        Ok(url)
    }

    /// The configuration as a client gets it.
    pub fn to_json(&self, task: &str, dialect: ProtocolDialect) -> Value {
        let is_old = dialect == ProtocolDialect::V03;
        let mut config = json!({ "id": self.id, "url": self.url });
        if let Some(token) = &self.token {
            set(&mut config, "token", json!(token));
        }
        if let Some(scheme) = &self.scheme {
            let mut authentication =
                if is_old { json!({ "schemes": [scheme] }) } else { json!({ "scheme": scheme }) };
            if let Some(credentials) = &self.credentials {
                set(&mut authentication, "credentials", json!(credentials));
            }
            set(&mut config, "authentication", authentication);
        }
        if is_old {
            return json!({ "taskId": task, "pushNotificationConfig": config });
        }
        set(&mut config, "taskId", json!(task));
        config
    }
}

fn invalid(why: &str) -> A2aError {
    A2aError::InvalidParams(why.to_owned())
}

fn required(params: &Map<String, Value>, name: &str) -> Result<String, A2aError> {
    let found = optional(params, name, MAX_ID)?;
    found.ok_or_else(|| A2aError::InvalidParams(format!("{name} is required")))
}

/// A text that can be in a header, if it is there.
fn optional(
    params: &Map<String, Value>,
    name: &str,
    limit: usize,
) -> Result<Option<String>, A2aError> {
    let bad = || A2aError::InvalidParams(format!("{name} is not valid"));
    // Some clients write the name as the definition of the protocol has it.
    let found = params.get(name).or_else(|| params.get("task_id").filter(|_| name == "taskId"));
    let text = match found {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_str().ok_or_else(bad)?,
    };
    if text.is_empty() {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if is_plain && text.len() <= limit { Ok(Some(text.to_owned())) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, params: &Value) -> Result<PushMethod, A2aError> {
        push_method(name, params.as_object().unwrap()).unwrap().1
    }

    #[test]
    fn both_versions_are_read_and_written() {
        let new = json!({
            "taskId": "t", "id": "c", "url": "https://example.org/x", "token": "secret",
            "authentication": { "scheme": "Bearer", "credentials": "abc" },
        });
        let old = json!({ "taskId": "t", "pushNotificationConfig": {
            "id": "c", "url": "https://example.org/x", "token": "secret",
            "authentication": { "schemes": ["Bearer"], "credentials": "abc" },
        } });
        let one = read("CreateTaskPushNotificationConfig", &new).unwrap();
        let other = read("tasks/pushNotificationConfig/set", &old).unwrap();
        let (PushMethod::Create(_, one), PushMethod::Create(_, other)) = (one, other) else {
            panic!("both create");
        };
        assert_eq!(one.to_json("t", ProtocolDialect::V1), new);
        assert_eq!(other.to_json("t", ProtocolDialect::V03), old);
        assert!((one.is_old, other.is_old) == (false, true));
        assert!(!format!("{one:?}").contains("secret"));
        let get = json!({ "id": "t", "pushNotificationConfigId": "c" });
        let found = read("tasks/pushNotificationConfig/get", &get).unwrap();
        assert_eq!(found, PushMethod::Get("t".to_owned(), Some("c".to_owned())));
        let listed = read("ListTaskPushNotificationConfigs", &json!({ "task_id": "t" })).unwrap();
        assert_eq!(listed, PushMethod::List("t".to_owned()));
        let delete = read("DeleteTaskPushNotificationConfig", &json!({ "taskId": "t" }));
        assert!(delete.is_err(), "the id is missing");
    }

    #[test]
    fn texts_that_break_a_header_are_refused() {
        for (name, bad) in [
            ("token", json!("a\r\nHost: x")),
            ("token", json!("ä")),
            ("url", json!(5)),
            ("authentication", json!({ "scheme": "Be arer" })),
            ("authentication", json!({ "credentials": "alone" })),
            ("authentication", json!({ "scheme": "Bearer", "credentials": "a\nb" })),
        ] {
            let mut params = json!({ "taskId": "t", "url": "https://example.org/" });
            set(&mut params, name, bad);
            assert!(read("CreateTaskPushNotificationConfig", &params).is_err(), "{params}");
        }
    }

    #[test]
    fn receivers_are_public_unless_that_is_configured() {
        let config = |url: &str| {
            let params = json!({ "taskId": "t", "url": url });
            match read("CreateTaskPushNotificationConfig", &params).unwrap() {
                PushMethod::Create(_, config) => config,
                other => panic!("{other:?}"),
            }
        };
        assert!(config("https://example.org/a").receiver(false).is_ok());
        for private in [
            "http://example.org/",
            "https://127.0.0.1/",
            "https://localhost:8443/",
            "https://[::1]/",
            "https://169.254.169.254/latest",
            "https://10.1.2.3/",
            "https://[::ffff:10.0.0.1]/",
        ] {
            assert!(config(private).receiver(false).is_err(), "{private}");
            assert!(config(private).receiver(true).is_ok(), "{private}");
        }
        assert!(config("file:///etc/passwd").receiver(true).is_err());
    }
}
