//! The rooms stay apart: arrows point one way, and the core touches nothing.

use std::path::{Path, PathBuf};

fn sources(room: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((path, text));
        }
    }
    files
}

/// The part of a file that is shipped.
fn shipped(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap()
}

#[test]
fn the_core_does_no_io_and_points_nowhere() {
    let forbidden = [
        "crate::edge",
        "crate::command",
        "tokio",
        "kube::",
        "reqwest",
        "std::env",
        "std::fs",
        "std::net",
        "SystemTime",
        "Instant",
        "async fn",
        "::now()",
    ];
    for room in ["reload", "announce"] {
        let files = sources(room);
        assert!(files.len() > 10);
        for (path, text) in files {
            for word in forbidden {
                assert!(!shipped(&text).contains(word), "{} says {word}", path.display());
            }
        }
    }
}

#[test]
fn deciding_knows_nothing_of_telling() {
    for (path, text) in sources("reload") {
        assert!(!shipped(&text).contains("announce"), "{}", path.display());
    }
}

#[test]
fn the_edge_does_not_point_at_the_front_door() {
    for (path, text) in sources("edge") {
        assert!(!shipped(&text).contains("crate::command"), "{}", path.display());
    }
}

#[test]
fn every_module_opens_with_what_it_holds() {
    for room in ["", "reload", "announce", "edge", "command"] {
        for (path, text) in sources(room) {
            assert!(text.starts_with("//! "), "{}", path.display());
        }
    }
}
