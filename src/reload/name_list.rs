//! The list of an annotation: its entries, those of them that cannot be read, and what all may cost together.
//!
//! Invariant: whatever somebody writes into an annotation (up to 256 kB), reading it takes bounded time and memory and
//! bounded room in the log. Names written in full cost next to nothing and always count.
//! Left out: which annotation is read, and when (opt_in.rs).

use super::name_pattern::{Budget, NamePattern, PatternError};

/// The most entries of a list that are complained about one by one.
const MOST_NAMED: usize = 8;

/// Entries of an annotation that are left out. The others count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptInProblem {
    /// An entry that cannot be read.
    #[error("the annotation {key} has an entry that is left out: {problem}")]
    Entry {
        /// The annotation.
        key: String,
        /// What is wrong with the entry.
        problem: PatternError,
    },
    /// Further ones, after the first few.
    #[error("the annotation {key} has {count} more entries that are left out")]
    More {
        /// The annotation.
        key: String,
        /// How many.
        count: usize,
    },
}

/// The entries of a list: split at every comma, trimmed; an empty one matches nothing. (Both as the peer's
/// `ShouldReload` and `checkIfResourceIsExcluded`.)
pub(super) fn entries(list: Option<&String>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split(',')).map(str::trim).filter(|entry| !entry.is_empty())
}

/// The entries as patterns, and what is wrong with the others.
pub(super) fn patterns(list: Option<&String>, key: &str) -> (Vec<NamePattern>, Vec<OptInProblem>) {
    let (mut patterns, mut problems) = (Vec::new(), Vec::new());
    let (mut budget, mut count) = (Budget::of_one_list(), 0);
    for entry in entries(list) {
        match NamePattern::parse_within(entry, &mut budget) {
            Ok(pattern) => patterns.push(pattern),
            Err(problem) if problems.len() < MOST_NAMED => {
                problems.push(OptInProblem::Entry { key: key.to_owned(), problem });
            }
            Err(_) => count += 1,
        }
    }
    if count > 0 {
        problems.push(OptInProblem::More { key: key.to_owned(), count });
    }
    (patterns, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "configmap.reloader.stakater.com/reload";

    fn read(list: &str) -> (Vec<NamePattern>, Vec<OptInProblem>) {
        patterns(Some(&list.to_owned()), KEY)
    }

    #[test]
    fn a_list_of_1500_patterns_is_read_whole() {
        for entry in ["app-N", "app.N", "app-N-.*"] {
            let list: Vec<String> = (0..1500).map(|n| entry.replace('N', &n.to_string())).collect();
            let (patterns, problems) = read(&list.join(", "));
            assert_eq!((patterns.len(), problems.len()), (1500, 0), "{entry}");
        }
    }

    #[test]
    fn names_count_however_much_the_patterns_beside_them_cost() {
        for costly in ["[a-z]{250}", "((.?.?.?){30}){33}", &"a?".repeat(500)] {
            let list = format!("{},app", vec![costly; 100_000 / costly.len()].join(","));
            let (patterns, problems) = read(&list);
            assert!(patterns.iter().any(|pattern| pattern.literal() == Some("app")), "{costly}");
            let last = problems.last().unwrap().to_string();
            assert!(last.contains("more entries that are left out"), "{last}");
        }
    }

    #[test]
    fn broken_entries_are_named_one_by_one_only_as_long_as_somebody_may_read_that() {
        assert_eq!(read("(,(,(,(,(,(,(,(").1.len(), 8);
        let (patterns, problems) = read(&format!("{},app", vec!["("; 1000].join(",")));
        assert_eq!((patterns.len(), problems.len()), (1, 9));
        assert_eq!(
            problems[0].to_string(),
            format!("the annotation {KEY} has an entry that is left out: \"(\": a bracket or parenthesis stands alone")
        );
        assert_eq!(problems[8].to_string(), format!("the annotation {KEY} has 992 more entries that are left out"));
    }
}
