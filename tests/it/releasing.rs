//! What is released together has one version, and the workflows that release it can be read.

use std::path::Path;

use serde_json::Value;

use crate::manifests::documents;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_image_the_chart_and_the_manifests_are_of_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    let chart = &documents(&text("charts/confroll/Chart.yaml"))[0];
    assert_eq!((&chart["version"], &chart["appVersion"]), (&version.into(), &version.into()));
    for manifest in ["knative/service.yaml", "eventing/sinks/base/service.yaml", "deploy/confroll.yaml"] {
        let image = format!("ghcr.io/confroll/confroll:{version}");
        let text = text(manifest);
        let images: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("image: ")).collect();
        assert!(!images.is_empty() && images.iter().all(|it| it.trim_matches('"') == image), "{manifest}: {images:?}");
    }
    let toolchain = text("rust-toolchain.toml");
    let rust = toolchain.lines().find_map(|line| line.strip_prefix("channel = \"")).unwrap();
    let rust = rust.trim_end_matches('"').rsplit_once('.').unwrap().0;
    assert!(text("Dockerfile").contains(&format!("FROM rust:{rust}-")), "the image is built by {rust}");
}

/// Every `uses` of a workflow.
fn actions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("uses").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|inner| actions(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| actions(inner, found)),
        _ => {}
    }
}

#[test]
fn workflows_can_be_read_and_name_a_version_of_each_action() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let workflow = documents(&std::fs::read_to_string(entry.unwrap().path()).unwrap()).remove(0);
        assert!(workflow["jobs"].is_object() && workflow["permissions"].is_object(), "{workflow}");
        for job in workflow["jobs"].as_object().unwrap().values() {
            assert!(job["timeout-minutes"].is_u64() && job["steps"].is_array(), "{job}");
        }
        actions(&workflow, &mut found);
    }
    assert!(found.len() > 10);
    for action in found {
        let version = action.split_once("@v").map(|(_, version)| version).unwrap_or_default();
        assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{action}");
    }
}
