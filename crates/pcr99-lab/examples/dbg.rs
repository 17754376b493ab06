//! x
#![allow(clippy::print_stdout)]
use pcr99::*;
use pcr99_lab::*;
fn main() {
    let seeds: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    for th in [true, false] {
        for (name, scale, choice) in [
            ("known", Scale::one(), ScaleChoice::Fixed(1.0)),
            ("unknown", Scale::Unknown, ScaleChoice::Random),
        ] {
            for ratio in [0.98, 0.99, 1.0] {
                let mut solver = Solver::new();
                let mut nfas = Vec::new();
                let mut effs = Vec::new();
                let mut bad = 0;
                for seed in 0..seeds {
                    let problem = Recipe::default()
                        .with_scale(choice)
                        .unwrap()
                        .with_outlier_ratio(ratio)
                        .unwrap()
                        .with_seed(seed)
                        .generate()
                        .unwrap();
                    let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
                    let mut p = Params::new().with_threads(1);
                    if th {
                        p = p.with_threshold(0.05).unwrap();
                    }
                    let found = solver.solve(&pairs, scale, &p).unwrap();
                    let e = found.evidence.unwrap_or(Evidence { log10_nfa: 0.0, effective_inliers: 0 });
                    nfas.push(e.log10_nfa);
                    effs.push(e.effective_inliers as f64 / found.inliers.len().max(1) as f64);
                    if let Some(m) = found.target_from_source {
                        if ratio < 1.0 && Errors::between(&m, &problem.truth).rotation_deg > 5.0 {
                            bad += 1;
                            println!(
                                "bad {seed} {:?} {:?} thr {} cands {:?}",
                                found.status,
                                e,
                                found.threshold,
                                found
                                    .candidates
                                    .iter()
                                    .map(|c| (c.inlier_count, (c.log10_nfa * 10.0).round() / 10.0))
                                    .collect::<Vec<_>>()
                            );
                        }
                    }
                }
                nfas.sort_by(f64::total_cmp);
                effs.sort_by(f64::total_cmp);
                println!(
                    "{th} {name} {ratio} bad {bad} nfa best {:?} worst {:?}; eff ratio lowest {:?}",
                    &nfas[..6.min(nfas.len())],
                    &nfas[nfas.len().saturating_sub(8)..],
                    &effs[..6]
                );
            }
        }
    }
}
