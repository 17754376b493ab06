//! Documents are read back to the bit, and broken ones are refused by the name of the field.

use pcr99::{Similarity, Status, StopReason};
use proptest::{
    array::{uniform3, uniform4},
    collection::vec,
    num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO},
    option,
    prelude::*,
    sample::{select, subsequence},
};
use serde_json::Value;

use super::*;

/// Any finite number, with zeros of both signs and the smallest ones.
fn number() -> impl Strategy<Value = f64> {
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

fn similarity() -> impl Strategy<Value = Similarity> {
    let quaternion = uniform4(-1.0..1.0).prop_filter("not zero", |q| q.iter().any(|x: &f64| x.abs() > 0.1));
    (1e-3..1e3, quaternion, uniform3(number())).prop_map(|(scale, q, translation)| {
        Similarity::from_quaternion(scale, q, translation).expect("a similarity")
    })
}

fn matrix() -> impl Strategy<Value = Matrix> {
    similarity().prop_map(|model| model.matrix())
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let log10_nfa = prop_oneof![4 => number().boxed(), 1 => Just(f64::NEG_INFINITY).boxed()];
    (log10_nfa, any::<usize>(), number(), number()).prop_map(
        |(log10_nfa, inlier_places, rotation_deviation_deg, rival_evidence_ratio)| Evidence {
            log10_nfa,
            inlier_places,
            rotation_deviation_deg,
            rival_evidence_ratio,
        },
    )
}

fn fit() -> impl Strategy<Value = Fit> {
    (uniform3(number()), uniform3(number())).prop_map(|(a, b)| Fit {
        overlap_source: a[0],
        overlap_target: a[1],
        normal_agreement: a[2],
        residual_voxels: b[0],
        conflict_fraction: b[1],
        off_plane_fraction: b[2],
    })
}

fn accuracy() -> impl Strategy<Value = Accuracy> {
    let square = |size: usize| vec(vec(number(), size), size);
    let matrices = prop_oneof![(square(6), square(6)), (square(7), square(7))];
    let words = (".*", vec(".*", 0..3));
    (matrices, uniform4(number()), uniform3(number()), uniform3(number()), option::of(number()), words)
        .prop_map(
            |(
                (covariance, information),
                [translation, rotation_deg, lever, _],
                weakest,
                center,
                scale,
                words,
            )| Accuracy {
                sentence: words.0,
                translation,
                weakest,
                rotation_deg,
                scale,
                undetermined: words.1,
                covariance,
                information,
                center,
                lever,
            },
        )
}

fn not_refuted() -> impl Strategy<Value = Option<NotRefuted>> {
    option::of(("\\PC*", "\\PC*").prop_map(|(code, sentence)| NotRefuted { code, sentence }))
}

fn inputs() -> impl Strategy<Value = Inputs> {
    uniform3(option::of(".*")).prop_map(|[pairs, source, target]| Inputs { pairs, source, target })
}

fn seconds() -> impl Strategy<Value = Option<Seconds>> {
    let stages = vec(("[a-z ]{1,8}".prop_filter("a stage", |stage| stage != "total"), number()), 0..5);
    // Sums of equal stages could overflow.
    let stages = stages
        .prop_filter("finite sums", |stages| stages.iter().map(|(_, s)| s.abs()).sum::<f64>().is_finite());
    option::of((number(), stages).prop_map(|(total, stages)| Seconds::new(total, stages)))
}

fn counters() -> impl Strategy<Value = Counters> {
    uniform3(any::<u64>()).prop_map(|[pairs, hypotheses, triplets]| Counters { pairs, hypotheses, triplets })
}

/// Number of matches, and the indices of some of them, possibly of none.
fn inliers() -> impl Strategy<Value = (usize, Vec<usize>)> {
    (0_usize..40).prop_flat_map(|n| (Just(n), subsequence((0..n).collect::<Vec<_>>(), 0..=n)))
}

/// Status, doubt, transform.
fn answer() -> impl Strategy<Value = (Status, Option<DoubtCode>, Option<Similarity>)> {
    prop_oneof![
        similarity().prop_map(|model| (Status::Registered, None, Some(model))),
        (select(DoubtCode::ALL.to_vec()), similarity()).prop_map(|(doubt, model)| (
            Status::NotReliable,
            Some(doubt),
            Some(model)
        )),
        select(DoubtCode::ALL.to_vec()).prop_map(|doubt| (Status::NoSolution, Some(doubt), None)),
    ]
}

fn of_matches() -> impl Strategy<Value = Document> {
    let candidate = || (matrix(), any::<usize>(), evidence());
    let rival = option::of((candidate(), number(), not_refuted()));
    let numbers = (0.0..1e300_f64, option::of(number()), option::of(evidence()), option::of(accuracy()));
    let texts = (".*", "[a-z-]*", ".*", option::of(inputs()));
    let rest = (select(StopReason::ALL.to_vec()), counters(), seconds());
    (answer(), inliers(), numbers, vec(candidate(), 0..4), rival, texts, rest).prop_map(
        |(answer, inliers, numbers, candidates, rival, (program, method, reason, inputs), rest)| {
            let (status, doubt, model) = answer;
            let model = model.as_ref();
            Document::Matches(MatchDocument {
                schema: SCHEMA,
                program,
                kind: Kind::Matches,
                inputs,
                method,
                status,
                doubt,
                reason,
                transform: model.map(Similarity::matrix),
                scale: model.map(Similarity::scale),
                rotation: model.map(Similarity::rotation),
                translation: model.map(Similarity::translation),
                correspondences: inliers.0,
                inliers: inliers.1,
                threshold: numbers.0,
                inlier_rmse: numbers.1,
                accuracy: numbers.3,
                evidence: numbers.2,
                candidates: (candidates.into_iter())
                    .map(|(transform, inlier_count, evidence)| MatchCandidate {
                        transform,
                        inlier_count,
                        evidence,
                    })
                    .collect(),
                rival: rival.map(
                    |((transform, inlier_count, evidence), evidence_ratio, not_refuted_because)| MatchRival {
                        transform,
                        inlier_count,
                        evidence,
                        evidence_ratio,
                        not_refuted_because,
                    },
                ),
                stopped_because: rest.0,
                counters: rest.1,
                seconds: rest.2,
            })
        },
    )
}

fn of_clouds() -> impl Strategy<Value = Document> {
    let candidate = || (matrix(), any::<usize>(), option::of(evidence()), fit());
    let rival = option::of((candidate(), number(), not_refuted()));
    let parts = (option::of(fit()), option::of(number()), option::of(accuracy()));
    let counts = uniform4(any::<usize>()).prop_map(|[points, not_finite, duplicates, sampled]| CloudCounts {
        points,
        not_finite,
        duplicates,
        sampled,
    });
    let clouds = (counts.clone(), counts).prop_map(|(source, target)| Clouds { source, target });
    let numbers = (1e-300..1e300_f64, option::of(0.0..1e300_f64), option::of(evidence()), clouds);
    let texts = (".*", "[a-z-]*", ".*", option::of(inputs()));
    let rest = (option::of(select(StopReason::ALL.to_vec())), option::of(counters()), seconds());
    (answer(), inliers(), parts, numbers, vec(candidate(), 0..4), rival, texts, rest).prop_map(
        |(answer, inliers, parts, numbers, candidates, rival, (program, method, reason, inputs), rest)| {
            let (status, doubt, model) = answer;
            let model = model.as_ref();
            // The answer itself is the first of the poses that fit equally well.
            let poses = model.zip(parts.0).map(|(model, fit)| EquivalentPose {
                transform: model.matrix(),
                relation: None,
                inlier_count: 3,
                fit,
            });
            let place = Place { at: [numbers.0, 0.5, -1e-9], radius: numbers.0, share: 0.25 };
            let motion = FreeMotion {
                kind: "turn".to_owned(),
                sentence: reason.clone(),
                axis: Some([0.0, 0.6, 0.8]),
                through: Some([numbers.0, 1.0, 2.0]),
                along: None,
            };
            Document::Clouds(CloudDocument {
                poses: poses.into_iter().collect(),
                free_motions: vec![motion],
                place: doubt.as_ref().map(|_| place),
                schema: SCHEMA,
                program,
                kind: Kind::Clouds,
                inputs,
                method,
                status,
                doubt,
                reason,
                transform: model.map(Similarity::matrix),
                scale: model.map(Similarity::scale),
                rotation: model.map(Similarity::rotation),
                translation: model.map(Similarity::translation),
                fit: parts.0,
                rmse: parts.1,
                accuracy: parts.2,
                voxel: numbers.0,
                clouds: numbers.3,
                correspondences: inliers.0,
                inliers: inliers.1,
                threshold: numbers.1,
                evidence: numbers.2,
                candidates: (candidates.into_iter())
                    .map(|(transform, inlier_count, evidence, fit)| CloudCandidate {
                        transform,
                        inlier_count,
                        evidence,
                        fit,
                    })
                    .collect(),
                rival: rival.map(
                    |((transform, inlier_count, evidence, fit), score_ratio, not_refuted_because)| {
                        CloudRival {
                            transform,
                            inlier_count,
                            evidence,
                            fit,
                            score_ratio,
                            not_refuted_because,
                        }
                    },
                ),
                stopped_because: rest.0,
                counters: rest.1,
                seconds: rest.2,
            })
        },
    )
}

pub(crate) fn documents() -> impl Strategy<Value = Document> {
    prop_oneof![of_matches(), of_clouds()]
}

proptest! {
    /// Comparing the texts as well tells −0 from 0.
    #[test]
    fn a_document_is_read_back_to_the_bit(document in documents()) {
        let text = document.to_json();
        let back = Document::from_json(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&back, &document);
        prop_assert_eq!(back.to_json(), text);
        prop_assert_eq!(document.target_from_source().is_some(), document.status() != Status::NoSolution);
    }

    #[test]
    fn a_pair_result_is_read_back_to_the_bit(
        document in documents(), pair_id in ".*", inputs in inputs(), error in option::of(".*"),
    ) {
        let result = match error {
            Some(error) => PairResult::failed(&pair_id, inputs, &error),
            None => PairResult::ran(&pair_id, inputs, document),
        };
        let line = result.to_json();
        prop_assert!(!line.contains('\n'));
        let back = PairResult::from_json(&line).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&back, &result);
        prop_assert_eq!(back.to_json(), line);
        prop_assert!(back.document().is_none_or(|document| document.seconds().is_none()));
    }

    /// A text that ends too early is never taken for a document, wherever it ends.
    #[test]
    fn truncated_documents_are_refused(document in documents(), at in any::<prop::sample::Index>()) {
        let text = document.to_json();
        let ends: Vec<usize> = text.trim_end().char_indices().map(|(place, _)| place).collect();
        let error = Document::from_json(&text[..ends[at.index(ends.len())]]).expect_err("truncated");
        prop_assert!(matches!(error, Error::Truncated { .. }), "{error}");
    }
}

fn found() -> pcr99::Registration {
    let source: Vec<[f64; 3]> =
        (0..80_u32).map(|i| [f64::from(i % 7), f64::from(i * i % 31), f64::from(i * i * i % 29)]).collect();
    let target: Vec<[f64; 3]> = source.iter().map(|&[x, y, z]| [5.0 - y, x + 1.0, z]).collect();
    let pairs = pcr99::Correspondences::new(&source, &target).expect("matches");
    pcr99::solve(&pairs, pcr99::Scale::one(), &pcr99::Params::new()).expect("a search")
}

/// The value of a document, with one change.
fn changed(document: &Document, change: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::to_value(document).expect("JSON");
    change(&mut value);
    Document::from_value(value).expect_err("refused").to_string()
}

#[test]
fn fields_are_in_the_order_of_the_reference() {
    let document = Document::of_matches("default", &found());
    let text = document.to_json();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect();
    let order = "schema program kind inputs method status doubt reason transform scale rotation translation correspondences \
                 inliers threshold inlier_rmse accuracy evidence candidates rival stopped_because counters seconds";
    assert_eq!(names, order.split_whitespace().collect::<Vec<_>>());
    assert!(text.starts_with("{\n  \"schema\": 2,\n") && text.ends_with("\n}\n"), "{text}");
}

#[test]
fn every_missing_field_is_named() {
    let document = Document::of_matches("default", &found());
    let fields = serde_json::to_value(&document).expect("JSON");
    let fields: Vec<String> = fields.as_object().expect("an object").keys().cloned().collect();
    for field in fields.iter().filter(|field| *field != "seconds") {
        let message = changed(&document, |value| {
            value.as_object_mut().expect("an object").shift_remove(field);
        });
        assert!(message.contains(&format!("`{field}`")), "{field}: {message}");
        let message = changed(&document, |value| value[field] = Value::from(true));
        assert!(message.contains(&format!("`{field}`")), "{field}: {message}");
    }
}

#[test]
fn errors_name_the_path() {
    let document = Document::of_matches("default", &found());
    let message = changed(&document, |value| value["evidence"]["inlier_places"] = "many".into());
    assert!(message.contains("field `evidence.inlier_places`: invalid type: string \"many\""), "{message}");
    let message = changed(&document, |value| {
        value["candidates"][0]["evidence"].as_object_mut().expect("an object").shift_remove("log10_nfa");
    });
    assert!(message.contains("field `candidates[0].evidence`: missing field `log10_nfa`"), "{message}");
    let message = changed(&document, |value| value["candidates"][0]["transform"][3][3] = 2.0.into());
    assert!(message.contains("field `candidates[0].transform`"), "{message}");
    let message = changed(&document, |value| value["scale"] = 3.0.into());
    assert!(message.contains("field `transform`: differs from `scale`"), "{message}");
    let message = changed(&document, |value| value["doubt"] = "chance".into());
    assert!(message.contains("field `doubt`: must be null exactly when"), "{message}");
    let message = changed(&document, |value| value["inliers"] = vec![3, 2].into());
    assert!(message.contains("field `inliers`: must be ascending"), "{message}");
    let message = changed(&document, |value| value["kind"] = "meshes".into());
    assert!(message.contains("field `kind`: unknown variant `meshes`"), "{message}");
    let message = changed(&document, |value| value["threshold"] = Value::Null);
    assert!(message.contains("field `threshold`: invalid type: null"), "{message}");
}

#[test]
fn other_texts_are_refused() {
    let refused = |text: &str| Document::from_json(text).expect_err("refused").to_string();
    let old = refused("{\"schema\": 1, \"program\": \"pcr99 0.1.0\", \"status\": \"registered\"}");
    assert_eq!(old, "this document has schema 1; this version reads 2: run the registration again");
    assert!(refused("").contains("truncated"));
    assert!(refused("[1, 2]").contains("expected a JSON object"));
    assert!(refused("{}").contains("missing field `schema`"));
    assert!(refused("pair_id,status\n").contains("not JSON"));
    assert!(refused("{\"schema\": 2}").contains("missing field `kind`"));
    let line = PairResult::from_json("{\"schema\": 2, \"status\": \"failed\", \"pair_id\": \"a\"}");
    assert!(line.expect_err("refused").to_string().contains("missing field `program`"));
}

#[test]
fn minus_infinity_is_null() {
    let Document::Matches(mut document) = Document::of_matches("default", &found()) else { unreachable!() };
    if let Some(evidence) = &mut document.evidence {
        evidence.log10_nfa = f64::NEG_INFINITY;
    }
    let document = Document::Matches(document);
    let text = document.to_json();
    assert!(text.contains("\"evidence\": {\"log10_nfa\":null,"), "{text}");
    assert_eq!(Document::from_json(&text).expect("a document"), document);
}

/// Every doubt of clouds has a code here; the numbers do not matter.
#[test]
fn codes_of_clouds_are_known() {
    use pcr99_cloud::Doubt;
    let doubts = [
        Doubt::NoConsensus,
        Doubt::Stopped,
        Doubt::Chance { log10_nfa: 0.0 },
        Doubt::PoorFit { residual_voxels: 1.0, normal_agreement: 0.1 },
        Doubt::LittleOverlap { overlap: 0.1 },
        Doubt::Conflict { fraction: 0.5 },
        Doubt::OnlyPlanes { off_plane_fraction: 0.01 },
        Doubt::Ambiguous { score_ratio: 0.9 },
        Doubt::BetterPoseFound { score_ratio: 1.1 },
        Doubt::Underconstrained { rigidity: 0.0 },
        Doubt::Mirrored { clearness: 4.0 },
        Doubt::FreeSpace { fraction: 0.3 },
        Doubt::SizeMismatch { ratio: 100.0 },
        Doubt::NotConverged { steps: 11 },
    ];
    let codes: Vec<DoubtCode> =
        doubts.iter().map(|doubt| doubt.code().parse().expect("a known code")).collect();
    assert_eq!(codes.len(), 14);
}
