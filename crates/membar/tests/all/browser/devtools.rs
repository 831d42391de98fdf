//! A browser without a window, driven over the DevTools protocol.
//!
//! Chromium reads commands from its descriptor 3 and answers on 4 (`--remote-debugging-pipe`), each message ended by a zero
//! byte: a shell joins these to our two pipes, so that no port is opened and no library is needed. When the pipe closes, the
//! browser ends, whatever became of us.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The failure, in words.
pub type Outcome<T = ()> = Result<T, String>;

/// For anything that the browser is asked to do: generous, because machines that test are busy.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two looks at something that has not happened yet.
const PAUSE: Duration = Duration::from_millis(15);
/// Functions that look at a page.
const PROBE: &str = include_str!("probe.js");

/// The first browser on the path that answers.
pub fn installed() -> Option<&'static str> {
    let answers = |name: &&str| {
        let ran = Command::new(name).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"].into_iter().find(answers)
}

/// A browser process with its own profile; both are gone when it is dropped. Its tabs can be used at the same time.
pub struct Browser {
    child: Child,
    profile: tempfile::TempDir,
    input: Mutex<ChildStdin>,
    heard: Arc<Mutex<Heard>>,
    sent: AtomicU64,
}

/// Messages of the browser that nobody has looked at.
#[derive(Default)]
struct Heard {
    /// The waiting requests, by answer.
    waiting: HashMap<u64, Sender<Value>>,
    /// Events of each session.
    events: HashMap<String, Vec<Value>>,
}

impl Browser {
    /// Starts one.
    pub fn start(program: &str) -> Outcome<Browser> {
        // Where `cargo clean` finds what a test that was killed has left.
        let profile = tempfile::tempdir_in(super::KEPT).map_err(|error| error.to_string())?;
        let log = std::fs::File::create(profile.path().join("log")).map_err(|error| error.to_string())?;
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >&2", program])
            // Root may not use the sandbox, and what is opened here is what membar just wrote.
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args(["--disable-component-update", "--font-render-hinting=none", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let heard = Arc::new(Mutex::new(Heard::default()));
        let listener = Arc::clone(&heard);
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message.map(|text| serde_json::from_slice::<Value>(&text).unwrap_or_default()) else {
                    break;
                };
                let Ok(mut heard) = listener.lock() else { break };
                if let Some(id) = message["id"].as_u64() {
                    // It does not matter if the request no longer waits.
                    let _ = heard.waiting.remove(&id).map(|waiting| waiting.send(message));
                } else if let Some(session) = message["sessionId"].as_str() {
                    heard.events.entry(session.to_owned()).or_default().push(message);
                }
            }
            // Nobody has to wait for a browser that has gone.
            if let Ok(mut heard) = listener.lock() {
                heard.waiting.clear();
            }
        });
        let browser = Browser { child, profile, input: Mutex::new(input), heard, sent: AtomicU64::new(1) };
        browser.call("Browser.getVersion", json!({}), None)?;
        Ok(browser)
    }

    fn call(&self, method: &str, params: Value, session: Option<&str>) -> Outcome<Value> {
        let id = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let (send, answer) = mpsc::channel();
        self.heard.lock().expect("no panic").waiting.insert(id, send);
        let bytes = [message.to_string().as_bytes(), &[0]].concat();
        let written = self.input.lock().expect("no panic").write_all(&bytes);
        written.map_err(|error| self.gone(&error.to_string()))?;
        let answer = answer.recv_timeout(PATIENCE).map_err(|error| self.gone(&format!("{method}: {error}")))?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {}", error["message"])),
            None => Ok(answer["result"].clone()),
        }
    }

    fn gone(&self, why: &str) -> String {
        let log = std::fs::read_to_string(self.profile.path().join("log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        format!("the browser does not answer ({why}); its last words, latest first:\n{}", last.join("\n"))
    }

    /// A new tab that shares nothing with other tabs.
    pub fn tab(&self) -> Outcome<Tab<'_>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let context = text(&self.call("Target.createBrowserContext", json!({}), None)?["browserContextId"]);
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let permissions = json!({ "permissions": permissions, "browserContextId": context });
        self.call("Browser.grantPermissions", permissions, None)?;
        let target = json!({ "url": "about:blank", "browserContextId": context });
        let target = self.call("Target.createTarget", target, None)?["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = text(&self.call("Target.attachToTarget", attach, None)?["sessionId"]);
        let (url, media) = (String::new(), String::new());
        let mut tab = Tab { browser: self, context, session, url, width: 0, media, patience: PATIENCE / 3 };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}))?;
        }
        tab.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }))?;
        Ok(tab)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("Browser.close", json!({}), None);
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A tab that looks at one page after the other.
pub struct Tab<'b> {
    browser: &'b Browser,
    context: String,
    session: String,
    url: String,
    /// The settings of [`Tab::look`] and [`Tab::media`].
    width: u32,
    media: String,
    /// How long to wait for something to become true.
    pub patience: Duration,
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        let _ = self.browser.call("Target.disposeBrowserContext", json!({ "browserContextId": self.context }), None);
    }
}

impl Tab<'_> {
    /// A command of the protocol.
    pub fn call(&mut self, method: &str, params: Value) -> Outcome<Value> {
        self.browser.call(method, params, Some(&self.session))
    }

    /// Opens a page and waits until it is drawn.
    pub fn open(&mut self, url: &str) -> Outcome {
        self.load(url)?;
        self.settle()
    }

    /// Opens a page and waits until it is there.
    pub fn load(&mut self, url: &str) -> Outcome {
        url.clone_into(&mut self.url);
        let went = self.call("Page.navigate", json!({ "url": url }))?;
        if let Some(error) = went.get("errorText") {
            return Err(format!("{url}: {error}"));
        }
        self.until("document.readyState === 'complete'")
    }

    /// Opens the page again, at the address that it has now, and waits until it is there.
    pub fn reload(&mut self) -> Outcome {
        self.script("window.old = true")?;
        self.call("Page.reload", json!({}))?;
        let end = Instant::now() + self.patience;
        // While one page goes and the next one comes, there is nothing to ask.
        while self.eval("!window.old && document.readyState === 'complete'") != Ok(Value::Bool(true)) {
            if Instant::now() > end {
                return Err("the page never came back".into());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// The value of an expression, promises included. It can use the functions of `probe.js`.
    pub fn eval(&mut self, expression: &str) -> Outcome<Value> {
        let expression = format!("(() => {{ {PROBE}\nreturn ({expression}); }})()");
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let answer = self.call("Runtime.evaluate", asked)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{}: in {expression}", details["exception"]["description"])),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) -> Outcome {
        let end = Instant::now() + self.patience;
        while self.eval(&format!("!!({expression})"))? != true {
            if Instant::now() > end {
                return Err(format!("it never became true that {expression}"));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// An expression has to be true now.
    pub fn holds(&mut self, expression: &str) -> Outcome {
        let value = self.eval(expression)?;
        if value == true { Ok(()) } else { Err(format!("{value}, not true: {expression}")) }
    }

    /// An expression has to come to nothing: `[]`, an empty text or `null`. Otherwise it says what is wrong.
    pub fn nothing(&mut self, expression: &str) -> Outcome {
        match self.eval(expression)? {
            Value::Null => Ok(()),
            Value::Array(all) if all.is_empty() => Ok(()),
            Value::String(text) if text.is_empty() => Ok(()),
            value => Err(format!("{value}: {expression}")),
        }
    }

    /// Waits until what was changed is drawn.
    pub fn settle(&mut self) -> Outcome {
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))").map(drop)
    }

    /// A key, pressed and let go.
    pub fn press(&mut self, key: &str) -> Outcome {
        let (code, number, text) = match key {
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            "Tab" => ("Tab", 9, ""),
            " " => ("Space", 32, " "),
            "End" => ("End", 35, ""),
            "Home" => ("Home", 36, ""),
            "ArrowLeft" => ("ArrowLeft", 37, ""),
            "ArrowUp" => ("ArrowUp", 38, ""),
            "ArrowRight" => ("ArrowRight", 39, ""),
            "ArrowDown" => ("ArrowDown", 40, ""),
            "j" => ("KeyJ", 74, "j"),
            "k" => ("KeyK", 75, "k"),
            "p" => ("KeyP", 80, "p"),
            _ => return Err(format!("no code is known for the key {key}")),
        };
        let mut event =
            json!({ "type": "keyDown", "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text });
        self.call("Input.dispatchKeyEvent", event.clone())?;
        event["type"] = "keyUp".into();
        event["text"] = "".into();
        self.call("Input.dispatchKeyEvent", event).map(drop)
    }

    /// A click of the mouse on the middle of an element, which nothing may cover.
    pub fn click(&mut self, element: &str) -> Outcome {
        let point = self.eval(&format!("steady(() => target({element}))"))?;
        if let Some(covered) = point.as_str() {
            return Err(format!("cannot click on {element}: {covered}"));
        }
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": point["x"], "y": point["y"], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event)?;
        }
        Ok(())
    }

    /// The width of the window, and whether the system is `light` or `dark`.
    pub fn look(&mut self, width: u32, theme: &str) -> Outcome {
        self.media("", theme)?;
        if self.width != width {
            self.width = width;
            let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
            self.call("Emulation.setDeviceMetricsOverride", size)?;
        }
        self.settle()
    }

    /// As on `print` or, with an empty name, on a screen.
    pub fn media(&mut self, media: &str, theme: &str) -> Outcome {
        let wanted = format!("{media} {theme}");
        if self.media == wanted {
            return Ok(());
        }
        self.media = wanted;
        // Nothing moves, so that nothing is looked at half way.
        let features = [("prefers-color-scheme", theme), ("prefers-reduced-motion", "reduce")];
        let features = features.map(|(name, value)| json!({ "name": name, "value": value }));
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features })).map(drop)
    }

    /// Runs a script in the page.
    pub fn script(&mut self, script: &str) -> Outcome {
        let answer = self.call("Runtime.evaluate", json!({ "expression": script }))?;
        answer.get("exceptionDetails").map_or(Ok(()), |details| Err(details.to_string()))
    }

    /// A picture of the whole page.
    pub fn picture(&mut self, width: u32) -> Outcome<Vec<u8>> {
        let height = self.eval("document.documentElement.scrollHeight")?;
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.call("Page.captureScreenshot", asked)?;
        BASE64.decode(picture["data"].as_str().unwrap_or_default()).map_err(|error| error.to_string())
    }

    /// Does a page do something of a kind that it must not do? A page with a dialog is never complete.
    pub fn misbehaves(&mut self, url: &str, kind: &str) -> bool {
        url.clone_into(&mut self.url);
        let _ = self.call("Page.navigate", json!({ "url": url }));
        let end = Instant::now() + PATIENCE / 3;
        while Instant::now() < end {
            if self.problems().iter().any(|problem| problem.starts_with(kind)) {
                let _ = self.call("Page.handleJavaScriptDialog", json!({ "accept": true }));
                return true;
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    /// Everything that a page must not do and this one did: talk to the console, throw, break its policy, ask for anything but
    /// itself, open a dialog, go elsewhere.
    pub fn problems(&mut self) -> Vec<String> {
        let own = |url: &Value| {
            url.as_str().is_some_and(|url| url.split('#').next() == Some(&self.url) || url == "about:blank")
        };
        let mut problems = Vec::new();
        let events = self.browser.heard.lock().expect("no panic").events.remove(&self.session);
        for event in events.unwrap_or_default() {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.consoleAPICalled" => problems.push(format!("console: {}", params["args"])),
                "Runtime.exceptionThrown" => problems.push(format!("exception: {}", params["exceptionDetails"])),
                "Log.entryAdded" => problems.push(format!("log: {}", params["entry"]["text"])),
                "Network.requestWillBeSent" if !own(&params["request"]["url"]) => {
                    problems.push(format!("request: {}", params["request"]["url"]));
                }
                "Page.javascriptDialogOpening" => problems.push(format!("dialog: {}", params["message"])),
                "Page.frameNavigated" if !own(&params["frame"]["url"]) => {
                    problems.push(format!("frame: {}", params["frame"]["url"]));
                }
                _ => {}
            }
        }
        problems
    }
}
