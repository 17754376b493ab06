//! The status is the same for every search seed.

use pcr99::{Correspondences, Scale, Solver, Status};
use pcr99_lab::{
    Recipe as PaperRecipe,
    trust::motions::{Recipe, Second},
};

use crate::{
    lab::{Failure, Lab, Row, checked, checked_points, params, solve, threshold_name},
    real::MatchFile,
};

/// Smallest share of problems whose status is the same for all search seeds.
const REQUIRED_SHARE: f64 = 0.99;
/// Noise of all generated problems here.
const NOISE: f64 = 0.01;

/// Number of problems, and those with more than one status.
#[derive(Default)]
struct Tally {
    problems: usize,
    changing: usize,
}

pub(crate) fn measure(lab: &mut Lab, files: Option<&[MatchFile]>) {
    let mut tally = Tally::default();
    for is_given in [true, false] {
        let suffix = threshold_name(is_given);
        if let Some(files) = files {
            lab.row(&format!("real matches, {suffix}"), |lab| {
                let results = lab.each(files, |solver, file| {
                    let threshold = is_given.then_some(file.threshold);
                    change(lab, solver, &file.name, &file.pairs(), threshold)
                });
                tally.row(results)
            });
        }
        for (name, share) in [("30/20 %", [0.3, 0.2]), ("10/4 %", [0.1, 0.04]), ("60/20 %", [0.6, 0.2])] {
            lab.row(&format!("two motions, {name}, {suffix}"), |lab| {
                let groups = share.map(|share| (1000.0_f64 * share).round() as usize);
                let recipe = Recipe { matches: 1000, groups, noise: [NOISE; 2] };
                let results = lab.each(&lab.seeds(50), |solver, &seed| {
                    let pairs = checked(&recipe.generate(Second::Independent, seed).matches);
                    change(lab, solver, &seed.to_string(), &pairs, is_given.then_some(5.0 * NOISE))
                });
                tally.row(results)
            });
        }
        for ratio in [0.5, 0.9, 0.99] {
            let what = format!("the paper's problems, {} % wrong, {suffix}", (100.0 * ratio) as u32);
            lab.row(&what, |lab| {
                let recipe = PaperRecipe::default().with_outlier_ratio(ratio).expect("a valid ratio");
                let results = lab.each(&lab.seeds(50), |solver, &seed| {
                    let problem = recipe.clone().with_seed(seed).generate().expect("a valid recipe");
                    let pairs = checked_points(&problem.source, &problem.target);
                    change(lab, solver, &seed.to_string(), &pairs, is_given.then_some(5.0 * NOISE))
                });
                tally.row(results)
            });
        }
    }
    if files.is_none() {
        lab.leave_out_real_matches();
    }
    lab.row("all of the above", |_| tally.total());
}

impl Tally {
    /// A row that informs; the sum of all rows decides.
    fn row(&mut self, results: Vec<Option<Failure>>) -> Row {
        let problems = results.len();
        let failures: Vec<Failure> = results.into_iter().flatten().collect();
        self.problems += problems;
        self.changing += failures.len();
        let row = Row::count(failures, problems, "have more than one status", 0);
        Row { required: "see the sum".to_owned(), is_met: None, ..row }
    }

    fn total(&self) -> Row {
        let share = 1.0 - self.changing as f64 / self.problems.max(1) as f64;
        Row {
            measured: format!("{:.1} % of {} have one status", 100.0 * share, self.problems),
            required: format!("at least {:.0} %", 100.0 * REQUIRED_SHARE),
            is_met: Some(share >= REQUIRED_SHARE),
            failures: Vec::new(),
        }
    }
}

/// A failure when the status differs between search seeds.
fn change(
    lab: &Lab,
    solver: &mut Solver,
    name: &str,
    pairs: &Correspondences,
    threshold: Option<f64>,
) -> Option<Failure> {
    let status =
        |search_seed| solve(solver, pairs, Scale::one(), &params(threshold).with_seed(search_seed)).status;
    let statuses: Vec<Status> = lab.search_seeds().map(status).collect();
    statuses.iter().any(|status| *status != statuses[0]).then(|| {
        let count = |wanted: Status| statuses.iter().filter(|status| **status == wanted).count();
        let counts = Status::ALL.map(|status| format!("{} {status}", count(status)));
        Failure { name: name.to_owned(), detail: counts.join(", ") }
    })
}
