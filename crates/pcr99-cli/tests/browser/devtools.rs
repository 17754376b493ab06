//! A real browser, driven through the DevTools protocol over a pipe: no port, no socket, no further library.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// How long an answer may take: the machine may be slow and busy, and 3-D is drawn without a graphics card.
const PATIENCE: Duration = Duration::from_secs(240);
/// How long a browser may take to start; then it is tried once more.
const START: Duration = Duration::from_secs(25);

const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// One at a time: two would take each other's time.
static ONE: Mutex<()> = Mutex::new(());

/// The browser, if there is one: `PCR99_BROWSER`, or Chromium or Chrome on the path.
///
/// # Panics
/// Without one where `CI` is true: there, a test must not be skipped.
pub(crate) fn installed() -> Option<PathBuf> {
    let named = std::env::var_os("PCR99_BROWSER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut found = std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name)));
    let browser = named.or_else(|| found.find(|file| file.is_file()));
    if browser.is_none() {
        let remedy = "no browser: `cargo xtask test` as root installs it, or `apt-get install chromium`";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{remedy}");
        eprintln!("skipped: {remedy}");
    }
    browser
}

/// A running browser; it ends with the value.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Messages that are no answers.
    events: Vec<Value>,
    calls: u64,
    /// Identifier of the one tab.
    session: Option<String>,
    _profile: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts it, with one empty tab.
    pub(crate) fn start(program: &Path) -> Self {
        let mut turn = Some(ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        for attempt in 1.. {
            let (child, input, messages, profile) = Self::spawn(program);
            let guard = turn.take().expect("not used yet");
            let mut browser = Self {
                child,
                input,
                messages,
                events: Vec::new(),
                calls: 0,
                session: None,
                _profile: profile,
                _turn: guard,
            };
            match browser.open_tab() {
                Ok(()) => return browser,
                Err(why) if attempt < 3 => {
                    eprintln!("the browser did not start ({why}); once more");
                    drop(browser);
                    turn = Some(ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
                }
                Err(why) => panic!("the browser does not start: {why}"),
            }
        }
        unreachable!()
    }

    fn spawn(program: &Path) -> (Child, ChildStdin, Receiver<Value>, tempfile::TempDir) {
        let profile = tempfile::tempdir().expect("a directory");
        // It reads commands from file 3 and writes answers to file 4.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        (child, input, messages, profile)
    }

    fn open_tab(&mut self) -> Result<(), String> {
        let tab = self.try_call("Target.createTarget", &json!({ "url": "about:blank" }), START)?;
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        let attached = self.try_call("Target.attachToTarget", &attach, START)?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.try_call(&format!("{domain}.enable"), &json!({}), START)?;
        }
        self.try_call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }), START)?;
        Ok(())
    }

    fn try_call(&mut self, method: &str, params: &Value, patience: Duration) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = self.session.as_ref().filter(|_| !method.starts_with("Browser.")) {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).and_then(|()| self.input.flush()).map_err(|error| error.to_string())?;
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(left).map_err(|error| format!("{method}: {error}"))?;
            if answer["id"] != json!(id) {
                self.events.push(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].clone());
            } else {
                return Err(format!("{method}: {}", answer["error"]));
            }
        }
    }

    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.try_call(method, &params, PATIENCE).unwrap_or_else(|why| panic!("{why}"))
    }

    /// What an expression comes to, promises awaited.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|why| panic!("{why}"))
    }

    #[track_caller]
    fn try_value(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let answer = self.try_call("Runtime.evaluate", &params, PATIENCE)?;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        // A page that is about to be left gives no answer.
        while self.try_value(expression) != Ok(json!(true)) {
            assert!(Instant::now() < end, "never true: {expression}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// A window of that size, and light or dark.
    pub(crate) fn look(&mut self, [width, height]: [u32; 2], scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Opens a file, and waits until it says that it is drawn.
    #[track_caller]
    pub(crate) fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'");
        self.wait_for("[...document.querySelectorAll('section.view')].every((view) => view.dataset.ready)");
        self.wait_for("!document.querySelector('.drawing') || document.body.dataset.ready === 'true'");
        self.settle();
    }

    /// Waits until what was changed is on the screen.
    #[track_caller]
    pub(crate) fn settle(&mut self) {
        let frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 150))))";
        self.value(frames);
    }

    /// Clicks in the middle of what a selector finds.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let [x, y] = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
        self.settle();
    }

    /// Drags from the middle of what a selector finds.
    #[track_caller]
    pub(crate) fn drag(&mut self, selector: &str, [dx, dy]: [f64; 2]) {
        let [x, y] = self.middle(selector);
        let event = |kind: &str, part: f64, buttons: u8| json!({ "type": kind, "x": x + part * dx, "y": y + part * dy, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event("mouseMoved", 0.0, 0));
        self.call("Input.dispatchMouseEvent", event("mousePressed", 0.0, 1));
        for step in 1..=5 {
            self.call("Input.dispatchMouseEvent", event("mouseMoved", f64::from(step) / 5.0, 1));
            // The camera follows with the next frames.
            self.settle();
            self.settle();
        }
        self.call("Input.dispatchMouseEvent", event("mouseReleased", 1.0, 0));
        self.settle();
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
        self.settle();
    }

    #[track_caller]
    fn middle(&mut self, selector: &str) -> [f64; 2] {
        let expression = format!(
            "(() => {{ const it = document.querySelector({}); it.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        );
        let place = self.value(&expression);
        [0, 1].map(|axis| place[axis].as_f64().unwrap_or_else(|| panic!("{selector}: {place}")))
    }

    /// The screen as a picture, or a part of it: PNG in base64.
    #[track_caller]
    pub(crate) fn picture(&mut self, selector: Option<&str>) -> String {
        let mut params = json!({ "format": "png" });
        if let Some(selector) = selector {
            self.middle(selector);
            self.settle();
            // Places on the page, not on the screen.
            let expression = format!(
                "(() => {{ const box = document.querySelector({}).getBoundingClientRect(); \
                 return {{ x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1 }}; }})()",
                json!(selector)
            );
            params["clip"] = self.value(&expression);
        } else {
            params["captureBeyondViewport"] = json!(true);
        }
        self.call("Page.captureScreenshot", params)["data"].as_str().expect("a picture").to_owned()
    }

    /// Everything that went wrong on the page, and everything that it asked a network for.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // What was sent until now is there after an answer.
        self.value("0");
        let is_local =
            |url: &str| ["file:", "data:", "blob:", "about:"].iter().any(|scheme| url.starts_with(scheme));
        let complaint = |event: &Value| {
            let (method, params) = (event["method"].as_str()?, &event["params"]);
            let is_bad = match method {
                "Runtime.exceptionThrown" => true,
                "Runtime.consoleAPICalled" => params["type"] == "error" || params["type"] == "warning",
                // What the driver of the drawing surface says of its speed is not ours.
                "Log.entryAdded" => params["entry"]["level"] == "error",
                "Network.requestWillBeSent" => !params["request"]["url"].as_str().is_some_and(is_local),
                "Network.loadingFailed" => true,
                _ => false,
            };
            is_bad.then(|| event.to_string())
        };
        self.events.iter().filter_map(complaint).collect()
    }
}
