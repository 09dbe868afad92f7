//! The `OpenAPI` document compared with the routers: neither has what the other lacks.

use super::*;
use crate::api::authenticate;
use crate::api::v1::DOCUMENT;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Operations that are documented and not served yet.
const NOT_YET: &[&str] = &[];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

/// Every operation: method, path, and the operation itself.
fn operations(document: &Value) -> Vec<(String, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, one)| (method.to_ascii_uppercase(), path.as_str(), one))
    });
    operations.collect()
}

fn later(method: &str, path: &str) -> bool {
    let one = format!("{method} {path}");
    NOT_YET.contains(&one.as_str())
}

/// Whether an API serves the route; sent without a credential, so that nothing happens.
async fn served(router: &Router, port: u16, method: &str, path: &str) -> bool {
    let path = path
        .replace("{id}", "00000000000000000000000000")
        .replace("{group}", "00000000000000000000000000")
        .replace("{name}", "nobody");
    let response = send(router, port, method, &path, None, &[], Value::Null).await;
    let status = response.status();
    // A stream cannot be read to its end.
    if status == StatusCode::OK {
        return true;
    }
    let (_, problem) = read(response).await;
    let not_found = problem["detail"] == "route not found";
    !(status == StatusCode::METHOD_NOT_ALLOWED || status == StatusCode::NOT_FOUND && not_found)
}

#[tokio::test]
async fn each_api_serves_exactly_the_documented_routes() {
    let api = TestApi::new().await;
    let document = document();
    let mut wrong = Vec::new();
    for path in document["paths"].as_object().unwrap().keys() {
        for method in METHODS {
            let one = &document["paths"][path][method.to_ascii_lowercase()];
            for (side, router, port) in
                [("agents", &api.agents, 6000), ("people", &api.people, 6001)]
            {
                let said = one["x-api"] == side || one["x-api"] == "both";
                let said = said && !later(method, path);
                if served(router, port, method, path).await != said {
                    wrong.push(format!("{method} {path} on the {side} API: documented {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The path of a `.route(…)`: a literal, or the name of a constant.
fn address(call: &str, source: &str) -> String {
    let call = call.trim_start();
    if let Some(text) = call.strip_prefix('"') {
        return text.split('"').next().unwrap().to_owned();
    }
    let name = call.split(',').next().unwrap().trim();
    let constant = format!("const {name}: &str = \"");
    let (_, value) = source.split_once(&constant).unwrap_or_else(|| panic!("what is {name}?"));
    value.split('"').next().unwrap().to_owned()
}

fn routes(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            routes(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let source = std::fs::read_to_string(&path).unwrap();
            found.extend(source.split(".route(").skip(1).map(|call| address(call, &source)));
        }
    }
}

#[test]
fn every_route_in_the_source_is_in_the_document() {
    let mut found = BTreeSet::new();
    routes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"), &mut found);
    assert!(found.len() > 20, "{found:?}");
    let document = document();
    let unknown: Vec<_> = found.iter().filter(|path| document["paths"][*path].is_null()).collect();
    assert!(unknown.is_empty(), "not in openapi.json: {unknown:?}");
}

fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for part in ["schemas", "responses", "parameters"] {
        for name in document["components"][part].as_object().unwrap().keys() {
            let reference = format!("#/components/{part}/{name}");
            assert!(found.contains(&reference.as_str()), "{reference} is used nowhere");
        }
    }
}

#[test]
fn every_operation_is_complete() {
    let document = document();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    let mut names = HashSet::new();
    for (method, path, one) in operations(&document) {
        let place = format!("{method} {path}");
        assert!(names.insert(one["operationId"].as_str().unwrap()), "{place}");
        assert!(["agents", "people", "both"].contains(&one["x-api"].as_str().unwrap()), "{place}");
        let needs = one["security"].as_array().unwrap();
        for scheme in needs.iter().flat_map(|need| need.as_object().unwrap().keys()) {
            assert!(schemes.contains_key(scheme), "{place}: {scheme}");
        }
        let responses = one["responses"].as_object().unwrap();
        let has = |status: &str| responses.contains_key(status);
        assert!(responses.keys().any(|status| status.starts_with('2')), "{place}");
        assert!(has("421"), "{place}");
        assert!(needs.is_empty() || has("401"), "{place}");
        let body = one.get("requestBody").is_some();
        assert!(!body || has("400") && has("413") && has("415"), "{place}");
        for name in path.split('{').skip(1) {
            let name = name.split('}').next().unwrap();
            let parameters = one["parameters"].as_array().unwrap();
            let declared = parameters.iter().any(|parameter| {
                let pointer = parameter["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
                let parameter = document.pointer(pointer).unwrap();
                parameter["in"] == "path" && parameter["name"] == name
            });
            assert!(declared, "{place}: {name}");
        }
    }
}

#[test]
fn changes_with_a_cookie_declare_the_proof_header() {
    let document = document();
    let declared = document.pointer("/components/parameters/Proof/name").unwrap();
    assert_eq!(
        declared.as_str().map(str::to_ascii_lowercase).as_deref(),
        Some(authenticate::PROOF)
    );
    for (method, path, one) in operations(&document) {
        let by_cookie = one["security"].as_array().unwrap().iter();
        let by_cookie = by_cookie.filter_map(|need| need.get("personCookie")).count() > 0;
        let parameters = one["parameters"].as_array().cloned().unwrap_or_default();
        let proof = json!({ "$ref": "#/components/parameters/Proof" });
        assert_eq!(parameters.contains(&proof), by_cookie && method != "GET", "{method} {path}");
    }
}

#[tokio::test]
async fn both_apis_serve_the_document_without_a_credential() {
    let api = TestApi::new().await;
    for (router, port) in [(&api.agents, 6000), (&api.people, 6001)] {
        let sent = send(router, port, "GET", "/openapi.json", None, &[], Value::Null).await;
        let (status, answer) = read(sent).await;
        assert_eq!((status, &answer["openapi"]), (StatusCode::OK, &json!("3.1.0")));
    }
}
