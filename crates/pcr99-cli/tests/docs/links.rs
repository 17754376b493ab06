//! Links between pages, and what every page of the documentation must have.

use std::fs;

use crate::markdown::{anchors, links, pages};

/// Every relative link leads to a file of the repository, and to a heading of it if it names one.
#[test]
fn every_relative_link_resolves() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in pages() {
        for link in links(&page.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, heading) = link.split_once('#').map_or((link.as_str(), None), |(f, h)| (f, Some(h)));
            let directory = page.path.parent().expect("a directory");
            let target = if file.is_empty() { page.path.clone() } else { directory.join(file) };
            let has_heading = |heading: &str| {
                let text = fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).iter().any(|anchor| anchor == heading)
            };
            if !target.exists() || heading.is_some_and(|heading| !has_heading(heading)) {
                broken.push(format!("{}: {link}", page.name));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(count > 50, "only {count} links were found");
}

/// Every page of the documentation can be reached from the index.
#[test]
fn the_index_lists_every_page() {
    let pages = pages();
    let index = pages.iter().find(|page| page.name == "docs/index.md").expect("an index");
    let listed = links(&index.text);
    for page in &pages {
        let Some(name) = page.name.strip_prefix("docs/").filter(|name| *name != "index.md") else { continue };
        // The tables of the paper's evaluation are parts of one page.
        if !name.starts_with("results/paper/") {
            assert!(listed.iter().any(|link| link == name), "docs/index.md does not link to {name}");
        }
    }
}

/// The line below the title of a page says who it is for.
#[test]
fn every_page_says_who_it_is_for() {
    for page in pages() {
        let is_part = page.name.starts_with("docs/results/paper/");
        if page.name.starts_with("docs/") && !is_part {
            let mut lines = page.text.lines().filter(|line| !line.is_empty());
            assert!(lines.next().is_some_and(|title| title.starts_with("# ")), "{}: no title", page.name);
            let reader = lines.next().map(|line| line.trim_start_matches('*'));
            assert!(reader.is_some_and(|line| line.starts_with("For ")), "{}: for whom?", page.name);
        }
    }
}

#[test]
fn the_readme_is_short() {
    let lines = pages().iter().find(|page| page.name == "README.md").map(|page| page.text.lines().count());
    assert!(lines.expect("a README") < 150, "{lines:?} lines");
}
