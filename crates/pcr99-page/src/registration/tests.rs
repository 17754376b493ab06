use pcr99::{Correspondences, Params, Registration, Scale};
use pcr99_cloud::{CloudRegistration, PreparedCloud, RawCloud, RegisterParams, register};
use pcr99_document::{Document, DoubtCode};

use super::*;

fn matches() -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
    let source: Vec<[f64; 3]> =
        (0..80_u32).map(|i| [f64::from(i % 7), f64::from(i * i % 31), f64::from(i * i * i % 29)]).collect();
    let target = source
        .iter()
        .enumerate()
        .map(|(i, &[x, y, z])| if i % 4 == 0 { [y, z * 1.7, x * 2.0 - y] } else { [5.0 - y, x + 1.0, z] })
        .collect();
    (source, target)
}

fn solved(source: &[[f64; 3]], target: &[[f64; 3]]) -> Registration {
    let pairs = Correspondences::new(source, target).expect("matches");
    pcr99::solve(&pairs, Scale::one(), &Params::new()).expect("a search")
}

fn hills() -> Vec<[f64; 3]> {
    (0..1600_u32)
        .map(|i| {
            let (x, y) = (f64::from(i % 40) * 0.1, f64::from(i / 40) * 0.1);
            [x, y, libm::sin(1.9 * x) * libm::cos(1.3 * y + 0.4) + 0.4 * libm::sin(3.1 * x - 2.3 * y)]
        })
        .collect()
}

fn registered(source: &[[f64; 3]], target: &[[f64; 3]]) -> CloudRegistration {
    let prepared = |points: &[[f64; 3]]| PreparedCloud::new(RawCloud::new(points)).expect("a cloud");
    register(&prepared(source), &prepared(target), &RegisterParams::new()).expect("a registration")
}

fn html(view: RegistrationView) -> String {
    RegistrationPage::new("pcr99 0").with_view(view).to_html()
}

/// The document as it is after it was written and read.
fn saved(document: &Document) -> Document {
    Document::from_json(&document.to_json()).expect("a document")
}

#[test]
fn a_saved_document_of_matches_gives_the_same_page() {
    let (source, target) = matches();
    let found = solved(&source, &target);
    assert!(found.is_registered());
    let document = saved(&Document::of_matches("default", &found));
    let view = RegistrationView::of_document(&document, &source, &target, None).expect("a view");
    assert_eq!(html(view), html(RegistrationView::of_matches(&found, "default", &source, &target)));

    let refused = |source: &[[f64; 3]], target: &[[f64; 3]]| {
        RegistrationView::of_document(&document, source, target, None).expect_err("refused").to_string()
    };
    assert!(refused(&source[1..], &target).contains("80 matches, but these are 79 source"));
    assert!(refused(&target, &source).contains("changed since"));
    assert!(refused(&[[f64::NAN; 3]; 80], &target).contains("changed since"));
}

#[test]
fn a_saved_document_of_clouds_gives_the_same_page() {
    let hills = hills();
    let turned: Vec<[f64; 3]> = hills.iter().map(|&[x, y, z]| [7.0 - y, x, z - 2.0]).collect();
    let found = registered(&turned, &hills);
    let document = saved(&Document::of_clouds(&found));
    let matches = found.matches.as_ref().expect("matches");
    let view =
        RegistrationView::of_document(&document, &turned, &hills, Some(&matches.points)).expect("a view");
    assert_eq!(html(view), html(RegistrationView::of_clouds(&found, &turned, &hills)));

    let without = RegistrationView::of_document(&document, &turned, &hills, None).expect("a view");
    assert_eq!((without.lines.total, without.bins.is_none()), (0, true));
    let other = RegistrationView::of_document(&document, &turned[1..], &hills, None);
    assert!(other.expect_err("refused").to_string().contains("its source had 1600 points"));
}

#[test]
fn numbers_only_without_points() {
    let (source, target) = matches();
    let document = Document::of_matches("default", &solved(&source, &target));
    let page = html(RegistrationView::without_points(&document));
    assert!(page.contains("nothing is drawn") && page.contains("id=\"matrix-0\""), "{page}");
    assert!(!page.contains("class=\"scene ") && page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn a_doubt_is_explained_and_the_rival_is_marked() {
    let (source, _) = matches();
    let halves: Vec<[f64; 3]> = source
        .iter()
        .enumerate()
        .map(|(i, &[x, y, z])| if i % 2 == 0 { [x, y, z] } else { [-y, x, z + 50.0] })
        .collect();
    let found = solved(&source, &halves);
    assert_eq!(found.doubt.map(|doubt| doubt.code()), Some("ambiguous"));
    let view = RegistrationView::of_matches(&found, "default", &source, &halves).with_title("<b>");
    let rivals: Vec<bool> = view.poses.iter().map(|pose| pose.is_rival).collect();
    assert_eq!(rivals.iter().filter(|is| **is).count(), 1, "{rivals:?}");
    let page = html(view);
    for text in
        [DoubtCode::Ambiguous.meaning(), DoubtCode::Ambiguous.advice(), "2, rival", "could not be refuted"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("<b>&#60;b&#62;</b>"), "{page}");
}

#[test]
fn a_report_has_its_head_accuracy_by_axis_distances_and_a_section() {
    let target = hills();
    let source: Vec<[f64; 3]> = target.iter().map(|p| [p[0] - 7.0, p[1] + 3.0, p[2]]).collect();
    let found = registered(&source, &target);
    assert!(found.is_registered(), "{}", found.reason());
    let view = || RegistrationView::of_clouds(&found, &source, &target);
    let head = ReportHead {
        title: Some("Weir <north>".to_owned()),
        project: Some("Monitoring & more".to_owned()),
        author: None,
        date: Some("2026-11-19".to_owned()),
    };
    let html = RegistrationPage::new("pcr99 0").with_head(head).with_view(view()).to_html();
    for part in [
        "<title>Weir &#60;north&#62;</title>",
        "<dt>Project</dt><dd>Monitoring &#38; more</dd>",
        "<dt>Date</dt><dd>2026-11-19</dd>",
        "Accuracy by axis",
        "<th scope=\"row\">z</th>",
        "class=\"scene distances\"",
        "class=\"cut\"",
        "95 % within",
    ] {
        let plain = html.replace('\u{a0}', " ");
        assert!(plain.contains(part), "{part}");
    }
    assert!(!html.contains("<dt>Author</dt>"));
    // Without a head there is none, and matches have neither surfaces nor sections.
    let (a, b) = matches();
    let matched = self::html(RegistrationView::of_matches(&solved(&a, &b), "default", &a, &b));
    for part in ["<header", "class=\"scene distances\"", "class=\"cut\""] {
        assert!(!matched.contains(part), "{part}");
    }
    // What is not registered has no accuracy.
    let other: Vec<[f64; 3]> = source.iter().map(|p| [p[2] * 3.0, p[0] * p[0], p[1] * p[0]]).collect();
    let nothing = registered(&source, &other);
    assert!(!nothing.is_registered(), "{}", nothing.reason());
    assert!(!self::html(RegistrationView::of_clouds(&nothing, &source, &other)).contains("Accuracy by axis"));
}
