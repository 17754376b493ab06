//! Single problems for other programs: two clouds as files, and what we find of them as one line of JSON.

use std::{fmt::Write, path::Path};

use pcr99::Similarity;
use pcr99_cloud::{Cloud, CloudRegistration, read_points, write_cloud};

use super::{
    refined, registered,
    surfaces::{Points, Recipe},
};

/// `DIRECTORY SCENE SOURCE_POINTS TARGET_POINTS NOISE OVERLAP STRAYS SEED`: a generated problem, refined.
pub fn generated(arguments: &[String]) {
    let [directory, scene, source, target, noise, overlap, strays, seed] = arguments else {
        panic!("DIRECTORY SCENE SOURCE_POINTS TARGET_POINTS NOISE OVERLAP STRAYS SEED are needed");
    };
    let scene = super::surfaces::SCENES.into_iter().find(|name| name == scene).expect("a scene");
    let recipe = Recipe {
        scene,
        points: [source, target].map(|count| count.parse().expect("a number of points")),
        noise: noise.parse().expect("a standard deviation"),
        overlap: overlap.parse().expect("a fraction"),
        strays: strays.parse().expect("a fraction"),
    };
    let seed = seed.parse().expect("a seed");
    let case = recipe.case(seed);
    write(directory, [&case.source, &case.target]);
    let (found, start, seconds) = refined(&case, seed);
    print(&found, &start, Some(&case.truth), seconds);
}

/// `DIRECTORY SOURCE TARGET`: two files, registered. The others start at our pose.
pub fn real(arguments: &[String]) {
    let [directory, source, target] = arguments else { panic!("DIRECTORY SOURCE TARGET are needed") };
    let [source, target] = [source, target].map(|file| {
        let points = read_points(Path::new(file)).expect("a cloud");
        points.into_iter().filter(|p| p.iter().all(|x| x.is_finite())).collect::<Points>()
    });
    write(directory, [&source, &target]);
    let (found, seconds) = registered(&source, &target);
    let start = found.target_from_source.unwrap_or(Similarity::IDENTITY);
    print(&found, &start, None, seconds);
}

/// Writes `source.npy` and `target.npy`.
fn write(directory: &str, clouds: [&Points; 2]) {
    for (name, points) in ["source.npy", "target.npy"].iter().zip(clouds) {
        let cloud = Cloud::new(points.clone());
        write_cloud(&Path::new(directory).join(name), &cloud).expect("a file");
    }
}

fn print(found: &CloudRegistration, start: &Similarity, truth: Option<&Similarity>, seconds: f64) {
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let covariance = found.covariance.as_ref();
    let matrix = covariance.map(|c| rows(c.matrix.iter().map(Vec::as_slice)));
    let free = covariance.map_or(0, |c| c.free.len());
    println!(
        "{{\"registered\": {}, \"seconds\": {seconds}, \"voxel\": {}, \"start\": {}, \"truth\": {}, \"pose\": {}, \"covariance\": {}, \"center\": {}, \"free\": {free}}}",
        found.is_registered(),
        found.voxel,
        transform(start),
        or_null(truth.map(transform)),
        or_null(found.target_from_source.as_ref().map(transform)),
        or_null(matrix),
        or_null(covariance.map(|c| list(&c.center))),
    );
}

fn transform(pose: &Similarity) -> String {
    let (r, t, s) = (pose.rotation(), pose.translation(), pose.scale());
    let row = |i: usize| [s * r[i][0], s * r[i][1], s * r[i][2], t[i]];
    rows([row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]].iter().map(<[f64; 4]>::as_slice))
}

fn rows<'a>(rows: impl Iterator<Item = &'a [f64]>) -> String {
    format!("[{}]", rows.map(list).collect::<Vec<_>>().join(", "))
}

fn list(numbers: &[f64]) -> String {
    let mut text = String::from("[");
    for (k, x) in numbers.iter().enumerate() {
        let comma = if k > 0 { ", " } else { "" };
        write!(text, "{comma}{x:e}").expect("text");
    }
    text + "]"
}
