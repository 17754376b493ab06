//! Which options go together, and what the messages say.

use pcr99::{Correspondences, Scale, Similarity, stop::StopRequest};
use pcr99_plan::{
    AssessOptions, AssessPlan, GivenScale, Method, PaperOptions, RegisterOptions, RegisterPlan, SolveOptions,
    SolvePlan, Solvers, VerifyOptions, VerifyPlan,
};

fn options(method: Method) -> SolveOptions {
    SolveOptions { method: Some(method), threshold: Some(0.05), ..SolveOptions::default() }
}

fn refused(options: &SolveOptions) -> String {
    SolvePlan::new(options).expect_err("refused").to_string()
}

#[test]
fn the_default_needs_nothing() {
    let plan = SolvePlan::new(&SolveOptions::default()).expect("defaults");
    assert_eq!((plan.method(), plan.scale(), plan.threshold()), (Method::Default, Scale::one(), None));
    assert_eq!(plan.to_string(), "method default, scale 1, threshold from the data, seed 0");
    let plan = RegisterPlan::new(&RegisterOptions::default()).expect("defaults");
    assert_eq!(*plan.params(), pcr99_cloud::RegisterParams::new());
}

#[test]
fn every_other_method_needs_a_threshold() {
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Default) {
        let message = refused(&SolveOptions { threshold: None, ..options(method) });
        assert!(message.starts_with(&format!("method `{method}` needs a `threshold`: ")), "{message}");
        assert_eq!(SolvePlan::new(&options(method)).map(|plan| plan.method()), Ok(method));
    }
}

#[test]
fn the_threshold_is_given_once() {
    let bound = SolveOptions { noise_bound: Some(0.01), ..SolveOptions::default() };
    let threshold = SolvePlan::new(&bound).expect("a plan").threshold().expect("a threshold");
    assert!((threshold.get() - 0.05).abs() < 1e-15);
    let ransac = SolveOptions { method: Some(Method::Ransac), ..bound.clone() };
    assert_eq!(SolvePlan::new(&ransac).expect("a plan").threshold(), Some(threshold));
    assert_eq!(
        refused(&SolveOptions { threshold: Some(0.05), ..bound.clone() }),
        "`threshold` and `noise_bound` both set the inlier threshold: remove one of them"
    );
    assert!(refused(&SolveOptions { noise_bound: Some(0.0), ..bound }).contains("`noise_bound`"));
}

#[test]
fn only_some_methods_estimate_the_scale() {
    for method in Method::ALL {
        let unknown = SolveOptions { scale: Some(GivenScale::Unknown), ..options(method) };
        if method.finds_scale() {
            assert_eq!(SolvePlan::new(&unknown).map(|plan| plan.scale()), Ok(Scale::Unknown));
        } else {
            assert_eq!(
                refused(&unknown),
                format!(
                    "method `{method}` cannot estimate the scale: set `scale` to a number, or remove `method`"
                )
            );
        }
        let range = SolveOptions { scale: Some(GivenScale::Range(1.0, 2.0)), ..options(method) };
        if method == Method::Default {
            assert_eq!(
                SolvePlan::new(&range).map(|plan| plan.scale()),
                Ok(Scale::between(1.0, 2.0).unwrap())
            );
        } else {
            let instead = if method.finds_scale() { "a number or `unknown`" } else { "a number" };
            assert_eq!(
                refused(&range),
                format!(
                    "method `{method}` takes no range of scales: set `scale` to {instead}, or remove `method`"
                )
            );
        }
    }
}

#[test]
fn parameters_of_the_paper_are_for_its_methods() {
    let one = PaperOptions::default();
    for (name, paper) in [
        ("epsilon", PaperOptions { epsilon: Some(0.1), ..one }),
        ("grid_step", PaperOptions { grid_step: Some(0.1), ..one }),
        ("batch", PaperOptions { batch: Some(10), ..one }),
        ("min_inliers", PaperOptions { min_inliers: Some(5), ..one }),
        ("min_inlier_fraction", PaperOptions { min_inlier_fraction: Some(0.1), ..one }),
        ("hypothesis_limit", PaperOptions { hypothesis_limit: Some(5), ..one }),
    ] {
        let with = |method| SolveOptions { paper, ..options(method) };
        let message =
            format!("`{name}` is a parameter of the paper's methods: remove it, or set `method` to `paper`");
        assert_eq!(refused(&with(Method::Default)), message);
        assert_eq!(refused(&with(Method::Ransac)), message);
        for method in [Method::Paper, Method::PaperRandom] {
            let text = SolvePlan::new(&with(method)).expect("a parameter of the method").to_string();
            let without = SolvePlan::new(&options(method)).expect("defaults").to_string();
            let is_default = matches!(name, "epsilon" | "grid_step" | "hypothesis_limit");
            assert_eq!(text == without, is_default, "{text}");
        }
    }
}

#[test]
fn parameters_of_the_default_method_are_for_it() {
    for (name, with) in [
        ("candidates", SolveOptions { candidates: Some(3), ..options(Method::Paper) }),
        ("effort", SolveOptions { effort: Some(3), ..options(Method::Paper) }),
        ("miss_probability", SolveOptions { miss_probability: Some(0.1), ..options(Method::Paper) }),
    ] {
        assert_eq!(
            refused(&with),
            format!("`{name}` is a parameter of the default method: remove it, or remove `method` (`paper`)")
        );
        let with = SolveOptions { method: None, ..with };
        assert!(SolvePlan::new(&with).is_ok(), "{name}");
    }
}

#[test]
fn values_outside_their_range_are_named() {
    let none = SolveOptions::default();
    for (name, with) in [
        ("threshold", SolveOptions { threshold: Some(-1.0), ..none.clone() }),
        ("threshold", SolveOptions { threshold: Some(f64::NAN), ..options(Method::Paper) }),
        ("threshold", SolveOptions { threshold: Some(0.0), ..options(Method::Fgr) }),
        ("scale", SolveOptions { scale: Some(GivenScale::Known(0.0)), ..none.clone() }),
        ("threads", SolveOptions { threads: Some(0), ..none.clone() }),
        ("time_limit", SolveOptions { time_limit: Some(0.0), ..none.clone() }),
        ("candidates", SolveOptions { candidates: Some(0), ..none.clone() }),
        ("effort", SolveOptions { effort: Some(0), ..none.clone() }),
        ("miss_probability", SolveOptions { miss_probability: Some(0.6), ..none.clone() }),
        ("correlation_length", SolveOptions { correlation_length: Some(-1.0), ..none.clone() }),
        ("correlation_length", SolveOptions { correlation_length: Some(f64::NAN), ..options(Method::Fgr) }),
    ] {
        let message = refused(&with);
        assert!(message.starts_with(&format!("`{name}` must be ")), "{message}");
    }
    let none = RegisterOptions::default();
    for (name, with) in [
        ("voxel", RegisterOptions { voxel: Some(-1.0), ..none.clone() }),
        ("candidates", RegisterOptions { candidates: Some(0), ..none.clone() }),
        ("threads", RegisterOptions { threads: Some(0), ..none.clone() }),
        ("time_limit", RegisterOptions { time_limit: Some(f64::NAN), ..none.clone() }),
        ("scale", RegisterOptions { scale: Some(GivenScale::Range(-1.0, 2.0)), ..none.clone() }),
    ] {
        let message = RegisterPlan::new(&with).expect_err("refused").to_string();
        assert!(message.starts_with(&format!("`{name}` must be ")), "{message}");
    }
}

#[test]
fn a_mistyped_number_of_threads_starts_none() {
    for threads in [1025, 20_000, usize::MAX] {
        let solve = refused(&SolveOptions { threads: Some(threads), ..SolveOptions::default() });
        let register = RegisterOptions { threads: Some(threads), ..RegisterOptions::default() };
        let register = RegisterPlan::new(&register).expect_err("refused").to_string();
        assert_eq!(solve, register);
        assert_eq!(
            solve,
            format!("`threads` is {threads}, but at most 1024 are started: remove it to use all cores")
        );
    }
    let most = SolveOptions { threads: Some(1024), ..SolveOptions::default() };
    assert!(SolvePlan::new(&most).is_ok());
}

/// A pose without rotation and translation.
fn pose(scale: f64) -> Similarity {
    Similarity::from_quaternion(scale, [1.0, 0.0, 0.0, 0.0], [0.0; 3]).expect("a similarity")
}

#[test]
fn an_initial_pose_agrees_with_the_scale() {
    let plan = |initial: f64, scale: Option<GivenScale>| {
        RegisterPlan::new(&RegisterOptions {
            initial: Some(pose(initial)),
            scale,
            ..RegisterOptions::default()
        })
        .map_err(|error| error.to_string())
    };
    let range = Some(GivenScale::Range(0.5, 2.0));
    for (initial, scale) in [
        (1.0, None),
        (1.0009, None),
        (2.0, Some(GivenScale::Known(2.0))),
        (7.0, Some(GivenScale::Unknown)),
        (2.0, range),
    ] {
        assert_eq!(
            plan(initial, scale).map(|plan| plan.params().initial().copied()),
            Ok(Some(pose(initial)))
        );
    }
    assert_eq!(
        plan(2.0, None).unwrap_err(),
        "`initial` has scale 2, but `scale` is 1: make them agree, or set `scale` to `unknown`"
    );
    assert_eq!(
        plan(3.0, range).unwrap_err(),
        "`initial` has scale 3, which is outside `scale` 0.5..2: make them agree, or set `scale` to `unknown`"
    );
}

/// Matches that all follow the same transform.
fn exact_matches() -> Correspondences {
    let source: Vec<[f64; 3]> = (0..60).map(f64::from).map(|x| [x, x * x % 61.0, x * x * x % 61.0]).collect();
    Correspondences::new(&source, &source).expect("matches")
}

#[test]
fn every_method_runs_in_the_same_memory() {
    let (pairs, mut solvers) = (exact_matches(), Solvers::new());
    for method in Method::ALL {
        let plan = SolvePlan::new(&options(method)).expect("a plan");
        let found = plan.run(&pairs, &mut solvers, &pcr99::stop::never).expect("a result");
        assert!(found.is_registered(), "{method}");
    }
}

#[test]
fn a_deadline_ends_a_search() {
    let plan = SolvePlan::new(&SolveOptions { time_limit: Some(1e-9), ..options(Method::Default) });
    let plan = plan.expect("a plan");
    let deadline = plan.deadline();
    while deadline.check(false).is_none() {}
    assert_eq!(deadline.check(false), Some(StopRequest::TimeLimit));
    let found = plan.run(&exact_matches(), &mut Solvers::new(), &|| deadline.check(false)).expect("a result");
    assert_eq!(found.stopped_because, pcr99::StopReason::TimeLimit);
}

#[test]
fn too_little_memory_says_what_to_set() {
    let with = SolveOptions { memory_budget_mib: Some(0), ..options(Method::Paper) };
    let plan = SolvePlan::new(&with).expect("a plan");
    let message =
        plan.run(&exact_matches(), &mut Solvers::new(), &pcr99::stop::never).unwrap_err().to_string();
    assert!(message.contains("set `memory_budget` to 1 MiB, or `method` to `paper-random`"), "{message}");
}

/// Sixty matches that follow a shift, and sixty that do not.
fn shifted() -> Correspondences {
    let mut random = pcr99::random::Random::new(3);
    let mut place = || [0; 3].map(|_| 10.0 * random.uniform());
    let source: Vec<[f64; 3]> = (0..120).map(|_| place()).collect();
    let target: Vec<[f64; 3]> = source
        .iter()
        .enumerate()
        .map(|(k, p)| if k % 2 == 0 { [p[0] + 1.0, p[1], p[2]] } else { place() })
        .collect();
    Correspondences::new(&source, &target).expect("matches")
}

#[test]
fn a_given_transform_is_judged_with_the_rules_of_solve() {
    let right = Similarity::from_translation([1.0, 0.0, 0.0]);
    for options in [
        AssessOptions { threshold: Some(0.0), ..AssessOptions::default() },
        AssessOptions { correlation_length: Some(-1.0), ..AssessOptions::default() },
        AssessOptions { threads: Some(0), ..AssessOptions::default() },
        AssessOptions { time_limit: Some(f64::NAN), ..AssessOptions::default() },
    ] {
        let same = SolveOptions {
            threshold: options.threshold,
            correlation_length: options.correlation_length,
            threads: options.threads,
            time_limit: options.time_limit,
            ..SolveOptions::default()
        };
        let message = AssessPlan::new(&right, &options).expect_err("refused").to_string();
        assert_eq!(message, refused(&same));
    }
    let judged = |transform: &Similarity, threshold: Option<f64>| {
        let options = AssessOptions { threshold, ..AssessOptions::default() };
        let plan = AssessPlan::new(transform, &options).expect("a plan");
        plan.run(&shifted(), &mut Solvers::new(), &|| None).expect("a verdict")
    };
    for threshold in [None, Some(0.05)] {
        let right = judged(&right, threshold);
        assert!(right.found.is_registered() && right.better().is_none());
        let wrong = judged(&Similarity::IDENTITY, threshold);
        assert!(!wrong.found.is_registered());
        assert_eq!(wrong.found.target_from_source, Some(Similarity::IDENTITY));
        // Only a search knows of another transform.
        assert_eq!(wrong.better().is_some(), threshold.is_none());
    }
}

#[test]
fn a_given_pose_is_judged_with_the_rules_of_register() {
    let large = Similarity::new(2.0, Similarity::IDENTITY.rotation(), [0.0; 3]).expect("a similarity");
    let plan = VerifyPlan::new(&large, &VerifyOptions::default()).expect("the scale of the pose is known");
    assert_eq!(plan.params().scale(), Scale::known(2.0).expect("a scale"));
    assert_eq!(plan.params().initial(), Some(&large));
    assert!(!plan.params().is_local());
    let wrong = VerifyOptions { voxel: Some(-1.0), ..VerifyOptions::default() };
    let same = RegisterOptions { voxel: Some(-1.0), ..RegisterOptions::default() };
    assert_eq!(
        VerifyPlan::new(&large, &wrong).expect_err("refused").to_string(),
        RegisterPlan::new(&same).expect_err("refused").to_string()
    );
}
