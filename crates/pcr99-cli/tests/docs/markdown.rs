//! The parts of a Markdown page that the tests need: code blocks, links, headings and inline code.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A page of the documentation.
pub(crate) struct Page {
    /// Path relative to the root of the repository, with `/` as separator.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Line of the opening fence, counted from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
    /// Why the block is not run, from a comment `<!-- not run: REASON -->` above it.
    pub(crate) not_run: Option<String>,
}

/// Root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root")
}

/// All pages of the repository: those of `docs` and every README and other page at the root and in the crates.
pub(crate) fn pages() -> Vec<Page> {
    let root = root();
    let mut files = Vec::new();
    collect(&root, 0, &mut files);
    files.sort();
    let page = |path: PathBuf| {
        let relative = path.strip_prefix(&root).expect("below the root");
        let name = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
        let text = fs::read_to_string(&path).expect("a page");
        Page { name: name.join("/"), path, text }
    };
    files.into_iter().map(page).collect()
}

/// Markdown files below a directory, without hidden directories and build results.
fn collect(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_skipped = name.starts_with('.') || (depth == 0 && name == "target");
        if path.is_dir() && !is_skipped {
            collect(&path, depth + 1, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

/// The fenced code blocks of a page, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut not_run): (Option<(String, Block)>, Option<String>) = (None, None);
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let indent = &line[..line.len() - trimmed.len()];
        match &mut open {
            Some((_, block)) if trimmed == "```" => {
                blocks.push(block.clone());
                open = None;
            }
            Some((outer, block)) => {
                block.text += line.strip_prefix(outer.as_str()).unwrap_or(trimmed);
                block.text.push('\n');
            }
            None => {
                if let Some(language) = trimmed.strip_prefix("```") {
                    let block = Block {
                        line: number + 1,
                        language: language.to_owned(),
                        text: String::new(),
                        not_run: not_run.take(),
                    };
                    open = Some((indent.to_owned(), block));
                } else if let Some(reason) = trimmed.strip_prefix("<!-- not run: ") {
                    not_run = reason.strip_suffix(" -->").map(str::to_owned);
                } else if !trimmed.is_empty() {
                    not_run = None;
                }
            }
        }
    }
    assert!(open.is_none(), "a code block is never closed");
    blocks
}

/// The page without its code blocks, so that nothing in them is taken for a link or a heading.
pub(crate) fn prose(text: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose += line;
        }
        prose.push('\n');
    }
    prose
}

/// Targets of all links and pictures, such as `page.md#heading`.
pub(crate) fn links(text: &str) -> Vec<String> {
    let prose = without_code(&prose(text));
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split_whitespace().next().unwrap_or_default().to_owned())
        .collect()
}

/// Contents of all inline code, `like this`.
pub(crate) fn inline_code(text: &str) -> Vec<String> {
    // A line break inside inline code is a space.
    let prose = prose(text);
    let paragraphs = prose.split("\n\n");
    paragraphs
        .flat_map(|text| text.split('`').skip(1).step_by(2))
        .map(|code| code.replace('\n', " "))
        .collect()
}

fn without_code(prose: &str) -> String {
    let paragraphs: Vec<String> =
        prose.split("\n\n").map(|text| text.split('`').step_by(2).collect::<Vec<_>>().join("code")).collect();
    paragraphs.join("\n\n")
}

/// Anchors of all headings, as GitHub makes them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let prose = prose(text);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn a_page_is_taken_apart() {
    let text = "\
# A page: `code`, and more

See [there](other.md#place \"title\") and `[not](this)`.

<!-- not run: needs a cluster -->
```sh
ray [x](y)
```

1. In a list:
   ```console
   $ echo one
   one
   ```
";
    let sh = Block {
        line: 6,
        language: "sh".into(),
        text: "ray [x](y)\n".into(),
        not_run: Some("needs a cluster".into()),
    };
    let console =
        Block { line: 11, language: "console".into(), text: "$ echo one\none\n".into(), not_run: None };
    assert_eq!(blocks(text), [sh, console]);
    assert_eq!(links(text), ["other.md#place"]);
    assert_eq!(anchors(text), ["a-page-code-and-more"]);
    assert_eq!(inline_code(text), ["code", "[not](this)"]);
}
