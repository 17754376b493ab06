//! A registration as its document has it, `pcr99_cloud::document`: what is left of one in a file, or in another process.

use pcr99::{Candidate, Counters, Evidence, Registration, Similarity, Status, StopReason};
use serde_json::Value;

use super::{
    view::{Agreeing, CloudFacts, Found, RegistrationView, Times},
    words::Verdict,
};
use crate::Error;

/// Residuals that differ by more than this share are those of other points.
const SAME_RESIDUAL: f64 = 1e-6;
/// The same as a share of the coordinates, for residuals that are nothing but rounding.
const ROUNDING: f64 = 1e-9;

impl RegistrationView {
    /// Of the document of a registration, as [`pcr99_cloud::document`] makes it, and of the points that it was made from: `source[i]`
    /// was matched with `target[i]`, or, where the document is of clouds, these. Of clouds `matches` are those that were searched, where
    /// they are still known; without them no lines are drawn.
    ///
    /// # Errors
    /// When the document is not one of a registration, or these are not its points.
    pub fn of_document(
        document: &Value,
        source: &[[f64; 3]],
        target: &[[f64; 3]],
        matches: Option<&[[[f64; 3]; 2]]>,
    ) -> Result<Self, Error> {
        let document = Document(document);
        if document.0.get("clouds").is_some() {
            return document.of_clouds(source, target, matches);
        }
        let found = document.registration()?;
        document.check_matches(&found, source, target)?;
        let method = document.0.get("method").and_then(Value::as_str).ok_or(missing("method"))?;
        let view = Self::of_matches(&found, method, source, target);
        Ok(Self { seconds: document.times(), ..view.with_time(document.times().total) })
    }
}

struct Document<'a>(&'a Value);

fn missing(field: &'static str) -> Error {
    Error::Document { field }
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(Value::as_f64)
}

fn whole(value: Option<&Value>) -> Option<usize> {
    value.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
}

/// `N` numbers.
fn numbers<const N: usize>(value: &Value) -> Option<[f64; N]> {
    let list: Option<Vec<f64>> = value.as_array()?.iter().map(Value::as_f64).collect();
    list?.try_into().ok()
}

/// The transform of a 4×4 matrix.
fn transform(value: Option<&Value>) -> Option<Similarity> {
    let rows: Option<Vec<[f64; 4]>> = value?.as_array()?.iter().map(numbers).collect();
    let matrix: [f64; 16] = rows?.as_flattened().try_into().ok()?;
    pcr99_cloud::similarity_of(&matrix)
}

impl Document<'_> {
    fn number(&self, field: &'static str) -> Option<f64> {
        number(self.0.get(field))
    }

    fn status(&self) -> Result<Status, Error> {
        let word = self.0.get("status").and_then(Value::as_str);
        let all = [Status::Registered, Status::NotReliable, Status::NoSolution];
        all.into_iter().find(|status| Some(status.as_str()) == word).ok_or(missing("status"))
    }

    /// The answer, to the last bit.
    fn answer(&self) -> Result<Option<Similarity>, Error> {
        if self.0.get("transform").is_none_or(Value::is_null) {
            return Ok(None);
        }
        let rows = self.0.get("rotation").and_then(Value::as_array);
        let rows: Option<Vec<[f64; 3]>> = rows.and_then(|rows| rows.iter().map(numbers).collect());
        let rotation = rows.and_then(|rows| rows.try_into().ok());
        let translation = self.0.get("translation").and_then(numbers);
        match (self.number("scale"), rotation, translation) {
            (Some(scale), Some(rotation), Some(translation)) => {
                Similarity::new(scale, rotation, translation).map(Some).map_err(|_| missing("transform"))
            }
            _ => Err(missing("transform")),
        }
    }

    fn candidates(&self) -> impl Iterator<Item = &Value> {
        self.0.get("candidates").and_then(Value::as_array).into_iter().flatten()
    }

    fn inliers(&self) -> Result<Vec<usize>, Error> {
        let list = self.0.get("inliers").and_then(Value::as_array).ok_or(missing("inliers"))?;
        list.iter().map(|index| whole(Some(index))).collect::<Option<_>>().ok_or(missing("inliers"))
    }

    fn stop_reason(&self) -> StopReason {
        use StopReason::{Confident, EnoughInliers, Exhausted, HypothesisLimit, Interrupted, TimeLimit};
        let word = self.0.get("stopped_because").and_then(Value::as_str);
        let all = [EnoughInliers, Confident, Exhausted, HypothesisLimit, TimeLimit, Interrupted];
        all.into_iter().find(|reason| Some(reason.as_str()) == word).unwrap_or(Exhausted)
    }

    fn times(&self) -> Times {
        let all = self.0.get("seconds").and_then(Value::as_object).into_iter().flatten();
        let mut times = Times::default();
        for (stage, seconds) in all {
            match (stage.as_str(), seconds.as_f64()) {
                ("total", Some(total)) => times.total = total,
                (stage, Some(seconds)) => times.stages.push((stage.to_owned(), seconds)),
                (_, None) => {}
            }
        }
        times
    }

    fn registration(&self) -> Result<Registration, Error> {
        let target_from_source = self.answer()?;
        let evidence = self.0.get("evidence").filter(|evidence| !evidence.is_null()).map(|e| {
            Evidence::new(
                // What is not a number in JSON was infinite.
                number(e.get("log10_nfa")).unwrap_or(f64::NEG_INFINITY),
                whole(e.get("inlier_places")).unwrap_or(0),
                number(e.get("rotation_deviation_deg")).unwrap_or(180.0),
                number(e.get("rival_evidence_ratio")).unwrap_or(0.0),
            )
        });
        let candidates = self.candidates().filter_map(|c| {
            let log10_nfa = number(c.get("log10_nfa")).unwrap_or(f64::NEG_INFINITY);
            Some(Candidate::new(
                transform(c.get("transform"))?,
                whole(c.get("inlier_count"))?,
                Evidence::new(log10_nfa, 0, 0.0, 0.0),
            ))
        });
        let mut found = Registration::no_solution(
            whole(self.0.get("correspondences")).ok_or(missing("correspondences"))?,
            self.number("threshold").filter(|t| *t > 0.0).ok_or(missing("threshold"))?,
            self.stop_reason(),
            Counters::default(),
        );
        found.status = self.status()?;
        found.target_from_source = target_from_source;
        found.inliers = self.inliers()?;
        found.inlier_rmse = self.number("inlier_rmse");
        if let Some(evidence) = evidence {
            found.doubt = evidence.doubt(found.inliers.len());
        }
        found.evidence = evidence;
        found.candidates = candidates.collect();
        Ok(found)
    }

    /// That the inliers are as far off as the document says.
    fn check_matches(
        &self,
        found: &Registration,
        source: &[[f64; 3]],
        target: &[[f64; 3]],
    ) -> Result<(), Error> {
        let matches = whole(self.0.get("correspondences")).ok_or(missing("correspondences"))?;
        let (n, m) = (source.len(), target.len());
        if n != matches || m != matches {
            return Err(Error::OtherPoints {
                why: format!(
                    "it was made from {matches} matches, but these are {n} source and {m} target points; give both sides of each match"
                ),
            });
        }
        if found.inliers.iter().any(|&i| i >= matches) {
            return Err(missing("inliers"));
        }
        let (Some(model), Some(rmse)) = (&found.target_from_source, found.inlier_rmse) else { return Ok(()) };
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for &i in &found.inliers {
            for (x, y) in model.apply(source[i]).into_iter().zip(target[i]) {
                sum += (x - y) * (x - y);
                largest = largest.max(x.abs()).max(y.abs());
            }
        }
        let here = (sum / found.inliers.len().max(1) as f64).sqrt();
        // Not a comparison that NaN would pass.
        if (here - rmse).abs() <= SAME_RESIDUAL * rmse + ROUNDING * largest {
            return Ok(());
        }
        let why = format!(
            "the matches that agree are {here} off (rms) and not {rmse}, so that they have changed since"
        );
        Err(Error::OtherPoints { why })
    }

    fn of_clouds(
        &self,
        source: &[[f64; 3]],
        target: &[[f64; 3]],
        matches: Option<&[[[f64; 3]; 2]]>,
    ) -> Result<RegistrationView, Error> {
        for (name, points) in [("source", source), ("target", target)] {
            let cloud = self.0.get("clouds").and_then(|clouds| clouds.get(name)).ok_or(missing("clouds"))?;
            let count = |field: &str| whole(cloud.get(field)).unwrap_or(0);
            let given = count("points");
            let used = given.saturating_sub(count("not_finite") + count("duplicates"));
            if ![given, used].contains(&points.len()) {
                let why = format!("its {name} had {given} points, and this one has {}", points.len());
                return Err(Error::OtherPoints { why });
            }
        }
        let overlap = |value: Option<&Value>| {
            let value = value?;
            Some([number(value.get("source"))?, number(value.get("target"))?])
        };
        let inliers = self.inliers()?;
        let total = whole(self.0.get("correspondences")).ok_or(missing("correspondences"))?;
        let evidence = self.0.get("evidence").filter(|evidence| !evidence.is_null());
        let log10_nfa = evidence.map(|e| number(e.get("log10_nfa")).unwrap_or(f64::NEG_INFINITY));
        let points = matches.filter(|points| points.len() == total && inliers.iter().all(|&i| i < total));
        let others = self.candidates().skip(1).filter_map(|c| {
            Some(Found {
                model: transform(c.get("transform"))?,
                inlier_count: whole(c.get("inlier_count")),
                log10_nfa: Some(number(c.get("log10_nfa")).unwrap_or(f64::NEG_INFINITY)),
                overlap: overlap(c.get("overlap")),
            })
        });
        let fit = overlap(self.0.get("overlap"));
        let first = self.candidates().next().and_then(|c| whole(c.get("inlier_count")));
        let answer = self.answer()?.map(|model| Found {
            model,
            inlier_count: log10_nfa.map(|_| inliers.len()).or(first),
            log10_nfa,
            overlap: fit,
        });
        let reason = self.0.get("reason").and_then(Value::as_str).ok_or(missing("reason"))?;
        let facts = CloudFacts {
            verdict: Verdict::of_reason(self.status()?, reason, fit.map(|[source, _]| source)),
            poses: answer.into_iter().chain(others).collect(),
            agreement: self.number("normal_agreement"),
            rmse: self.number("rmse"),
            matches: log10_nfa.map(|log10_nfa| Agreeing {
                total,
                points: points.unwrap_or(&[]),
                inliers: &inliers,
                threshold: self.number("threshold").unwrap_or(0.0),
                log10_nfa,
                ended: self.stop_reason(),
            }),
            voxel: self.number("voxel").ok_or(missing("voxel"))?,
            times: self.times(),
        };
        Ok(RegistrationView::of_cloud_facts(facts, source, target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{Correspondences, Params, Scale};
    use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, document, register};

    /// The same is shown from a document as from what was found.
    fn assert_same(one: &RegistrationView, other: &RegistrationView) {
        assert_eq!((&one.verdict, &one.facts, &one.lines), (&other.verdict, &other.facts, &other.lines));
        assert_eq!((&one.bins, one.threshold, &one.search), (&other.bins, other.threshold, &other.search));
        assert_eq!((&one.clouds, one.seconds.total), (&other.clouds, other.seconds.total));
        assert_eq!(one.poses.first(), other.poses.first());
        assert_eq!(one.poses.len(), other.poses.len());
    }

    #[test]
    fn matches_from_a_document() {
        let source: Vec<[f64; 3]> = (0..80_u32)
            .map(|i| [f64::from(i % 7), f64::from(i * i % 31), f64::from(i * i * i % 29)])
            .collect();
        let target: Vec<[f64; 3]> = (source.iter().enumerate())
            .map(|(i, &[x, y, z])| if i % 4 == 0 { [y, z * 1.7, x * 2.0 - y] } else { [5.0 - y, x + 1.0, z] })
            .collect();
        let pairs = Correspondences::new(&source, &target).expect("matches");
        let found = pcr99::solve(&pairs, Scale::one(), &Params::new()).expect("a search");
        assert!(found.is_registered());
        let document = document::of_matches("default", 80, &found);
        let view = RegistrationView::of_document(&document, &source, &target, None).expect("a view");
        assert_same(&view, &RegistrationView::of_matches(&found, "default", &source, &target));

        let refused = |document: &Value, source: &[[f64; 3]], target: &[[f64; 3]]| {
            RegistrationView::of_document(document, source, target, None).expect_err("refused").to_string()
        };
        assert!(refused(&document, &source[1..], &target).contains("80 matches, but these are 79 source"));
        assert!(refused(&document, &target, &source).contains("changed since"));
        let none = [[f64::NAN; 3]; 80];
        assert!(refused(&document, &none, &target).contains("changed since"));
        for field in ["status", "inliers", "threshold", "correspondences", "rotation", "method"] {
            let mut broken = document.clone();
            broken[field] = Value::from(-1.5);
            assert!(refused(&broken, &source, &target).contains("not the document"), "{field}");
        }
        assert!(refused(&Value::Null, &source, &target).contains("not the document"));
    }

    #[test]
    fn clouds_from_a_document() {
        let hills: Vec<[f64; 3]> = (0..1600_u32)
            .map(|i| {
                let (x, y) = (f64::from(i % 40) * 0.1, f64::from(i / 40) * 0.1);
                let z = libm::sin(1.9 * x) * libm::cos(1.3 * y + 0.4) + 0.4 * libm::sin(3.1 * x - 2.3 * y);
                [x, y, z]
            })
            .collect();
        let turned: Vec<[f64; 3]> = hills.iter().map(|&[x, y, z]| [7.0 - y, x, z - 2.0]).collect();
        let prepared = |points: &[[f64; 3]]| PreparedCloud::new(RawCloud::new(points)).expect("a cloud");
        let found =
            register(&prepared(&turned), &prepared(&hills), &RegisterParams::new()).expect("a registration");
        let document = document::of_clouds(&found);
        let matches = found.matches.as_ref().expect("matches");
        let view = RegistrationView::of_document(&document, &turned, &hills, Some(&matches.points));
        assert_same(&view.expect("a view"), &RegistrationView::of_clouds(&found, &turned, &hills));
        let without = RegistrationView::of_document(&document, &turned, &hills, None).expect("a view");
        assert_eq!((without.lines.total, without.bins), (0, None));
        let other = RegistrationView::of_document(&document, &turned[1..], &hills, None);
        assert!(other.expect_err("refused").to_string().contains("its source had 1600 points"));
    }
}
