//! Answers to requests.

use pcr99::{Registration, stop::StopRequest};
use pcr99_cloud::{CloudRegistration, PreparedCloud, RawCloud};
use pcr99_document::{Document, Inputs as InputNames, Seconds};
use pcr99_page::{RegistrationView, sections};
use pcr99_plan::{RegisterPlan, SolvePlan, Solvers};

use crate::{
    Error,
    inputs::{Inputs, pairs},
    request::{self, GivenCloud, GivenMatches, Request},
};

/// The environment: a clock, and a place for progress.
pub struct Host<'a> {
    /// Seconds since some moment.
    pub now: &'a (dyn Fn() -> f64 + Sync),
    /// Called at the beginning of each stage with its name.
    pub stage: &'a dyn Fn(&str),
}

/// What a request gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A registration.
    Document {
        /// The document, as `pcr99 solve --json` prints it.
        json: String,
        /// The part of a page that shows it, if wanted.
        page: Option<String>,
    },
    /// A file with moved points.
    File {
        /// Its name.
        name: String,
        /// Its content.
        bytes: Vec<u8>,
        /// What could not be kept.
        lost: Vec<String>,
    },
}

/// Stage in which parts of a page are made.
const DRAWING: &str = "drawing";

/// Answers a request: the first buffer is JSON ([`Request`]), the others are files and arrays.
///
/// ```
/// use pcr99_web::{Answer, Host, answer};
///
/// let request = br#"{ "task": "solve", "matches": { "file": "m.csv" } }"#.to_vec();
/// let matches: String = (0..60).map(|i| (i, i * i % 61, i * i * i % 61))
///     .map(|(x, y, z)| format!("{x} {y} {z} {x} {y} {z}\n")).collect();
/// let host = Host { now: &|| 0.0, stage: &|_| {} };
/// let Answer::Document { json, .. } = answer(vec![request, matches.into_bytes()], &host)? else { panic!() };
/// assert!(json.contains(r#""status": "registered""#), "{json}");
/// # Ok::<(), pcr99_web::Error>(())
/// ```
///
/// # Errors
/// When the request, a file or an option is wrong.
pub fn answer(buffers: Vec<Vec<u8>>, host: &Host<'_>) -> Result<Answer, Error> {
    let mut inputs = Inputs::new(buffers);
    let request = serde_json::from_slice(&inputs.take("the request")?)?;
    match request {
        Request::Solve { matches, options, page } => solve(&matches, &options, page, inputs, host),
        Request::Register { source, target, options, local, page } => {
            Register { clouds: [&source, &target], options: &options, local, page }.answer(inputs, host)
        }
        Request::Move { file, transform } => {
            let (moved, copied) = inputs.file(&file)?.moved(&transform.given()?)?;
            let (name, bytes) = (moved.name().to_owned(), moved.bytes().to_vec());
            Ok(Answer::File { name, bytes, lost: copied.lost })
        }
    }
}

/// Times of the stages.
struct Watch<'a> {
    host: &'a Host<'a>,
    start: f64,
    stages: Vec<(String, f64)>,
    /// The stage that runs, and its beginning.
    current: (String, f64),
}

impl<'a> Watch<'a> {
    fn start(host: &'a Host<'a>, stage: &str) -> Self {
        (host.stage)(stage);
        let now = (host.now)();
        Self { host, start: now, stages: Vec::new(), current: (stage.to_owned(), now) }
    }

    /// Ends a stage and begins the next one.
    fn next(&mut self, stage: &str) {
        (self.host.stage)(stage);
        let now = (self.host.now)();
        let (ended, began) = std::mem::replace(&mut self.current, (stage.to_owned(), now));
        self.stages.push((ended, now - began));
    }

    /// The times until now.
    fn seconds(&self) -> Seconds {
        let now = (self.host.now)();
        let (stage, began) = &self.current;
        let all = self.stages.iter().cloned().chain([(stage.clone(), now - began)]);
        Seconds::new(now - self.start, all)
    }

    /// Whether a time limit is over.
    fn check(&self, limit: Option<f64>) -> impl Fn() -> Option<StopRequest> + Sync + use<'a> {
        let (now, start) = (self.host.now, self.start);
        move || limit.filter(|limit| now() - start >= *limit).map(|_| StopRequest::TimeLimit)
    }
}

fn solve(
    given: &GivenMatches,
    options: &request::Solve,
    is_shown: bool,
    mut inputs: Inputs,
    host: &Host<'_>,
) -> Result<Answer, Error> {
    let plan = SolvePlan::new(&options.given()?)?;
    let mut watch = Watch::start(host, pcr99::Seconds::READING);
    let matches = inputs.matches(given)?;
    drop(inputs);
    watch.next(pcr99::Seconds::PREPARING);
    let pairs = pairs(&matches, given.file.as_deref())?;
    watch.next("search");
    let stop = watch.check(plan.time_limit().map(|limit| limit.as_secs_f64()));
    let found: Registration = plan.run(&pairs, &mut Solvers::new(), &stop)?;
    let method = plan.method().name();
    let seconds = watch.seconds();
    let document = Document::of_matches(method, &found)
        .with_inputs(given.file.as_deref().map(InputNames::matches))
        .with_seconds(Some(seconds.clone()));
    let view = is_shown.then(|| {
        (host.stage)(DRAWING);
        RegistrationView::of_matches(&found, method, &matches.source, &matches.target).with_seconds(seconds)
    });
    Ok(shown(&document, view))
}

/// A registration of two clouds.
struct Register<'a> {
    clouds: [&'a GivenCloud; 2],
    options: &'a request::Register,
    local: bool,
    page: bool,
}

impl Register<'_> {
    fn answer(&self, mut inputs: Inputs, host: &Host<'_>) -> Result<Answer, Error> {
        let plan = RegisterPlan::new(&self.options.given(self.local)?)?;
        let mut watch = Watch::start(host, pcr99::Seconds::READING);
        let [source, target] = self.clouds;
        let source = inputs.cloud(source, "source")?;
        let target = inputs.cloud(target, "target")?;
        drop(inputs);
        watch.next(pcr99::Seconds::PREPARING);
        let prepared = |(cloud, name): &(pcr99_cloud::Cloud, String), viewpoint: Option<[f64; 3]>| {
            let raw = RawCloud::new(&cloud.points).with_normals(cloud.normals.as_deref());
            let raw = raw.and_then(|raw| raw.with_viewpoint(viewpoint.or(cloud.viewpoint)));
            raw.and_then(PreparedCloud::new).map_err(|cause| Error::Cloud { name: name.clone(), cause })
        };
        let prepared = [
            prepared(&source, self.options.source_viewpoint)?,
            prepared(&target, self.options.target_viewpoint)?,
        ];
        watch.next("search");
        let stop = watch.check(plan.time_limit().map(|limit| limit.as_secs_f64()));
        let found: CloudRegistration = plan.run(&prepared[0], &prepared[1], &stop)?;
        drop(prepared);
        let names = self.clouds.map(|cloud| cloud.file.as_deref());
        let names = if let [Some(a), Some(b)] = names { Some([a, b]) } else { None };
        let seconds = watch.seconds();
        let document = Document::of_clouds(&found)
            .with_inputs(names.map(|[source, target]| InputNames::clouds(source, target)))
            .with_seconds(Some(seconds.clone()));
        let view = self.page.then(|| {
            (host.stage)(DRAWING);
            let view = RegistrationView::of_clouds(&found, &source.0.points, &target.0.points);
            view.with_names(&source.1, &target.1).with_seconds(seconds)
        });
        Ok(shown(&document, view))
    }
}

fn shown(document: &Document, view: Option<RegistrationView>) -> Answer {
    let page = view.map(|view| sections(&[view]));
    Answer::Document { json: document.to_json(), page }
}
