//! Pure noise: nothing may be registered.

use pcr99::Registration;
use pcr99_lab::trust::noise::{Family, Problem};

use crate::lab::{Failure, Lab, Row, checked, describe, params, solve};

pub(crate) fn measure(lab: &mut Lab) {
    for family in Family::ALL {
        lab.row(family.name(), |lab| one_family(lab, family));
    }
}

fn one_family(lab: &Lab, family: Family) -> Row {
    let seeds = lab.seeds(1000);
    let failures = lab.each(&seeds, |solver, &seed| {
        let problem = family.problem(seed);
        let pairs = checked(&problem.matches);
        let found = solve(solver, &pairs, problem.scale, &params(problem.threshold));
        found.is_registered().then(|| failure(family, seed, &problem, &found))
    });
    // Wrong matches on a sphere or a curve can agree for a reason: the surface moves along itself.
    let most = match family {
        Family::Sphere | Family::Curves => 1 + seeds.len() / 2000,
        _ => 0,
    };
    Row::count(failures.into_iter().flatten().collect(), seeds.len(), "registered", most)
}

fn failure(family: Family, seed: u64, problem: &Problem, found: &Registration) -> Failure {
    let threshold = if problem.threshold.is_some() { "given" } else { "found" };
    let detail = format!("scale {:?}, threshold {threshold}; {}", problem.scale, describe(found));
    Failure { name: format!("{} {seed}", family.name()), detail }
}
