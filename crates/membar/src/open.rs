//! Opens a page in a browser.

use membar::report::safe;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program that fails does so by then.
const SOON: Duration = Duration::from_secs(2);

/// Opens a page with the first program that can, or says that there is none.
pub fn open(page: &Path) {
    let path = page.canonicalize().unwrap_or_else(|_| page.to_owned());
    let browsers = std::env::var("BROWSER").unwrap_or_default();
    let desktop = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let named = browsers.split(':').filter(|browser| !browser.trim().is_empty());
    if !named.chain([desktop]).any(|browser| starts(browser, &path)) {
        let _ = writeln!(
            std::io::stderr(),
            "note: {} was not opened: neither $BROWSER nor `{desktop}` opens a page here\n = help: open it yourself: file://{}",
            safe(&page.to_string_lossy()),
            safe(&path.to_string_lossy())
        );
    }
}

/// Whether the program starts and does not fail soon. `%s` in it stands for the page.
fn starts(browser: &str, page: &Path) -> bool {
    let mut words = browser.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    let page = page.as_os_str();
    let mut put = false;
    for word in words {
        put |= word == "%s";
        if word == "%s" {
            command.arg(page)
        } else {
            command.arg(word)
        };
    }
    if !put {
        command.arg(page);
    }
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = started else { return false };
    let until = Instant::now() + SOON;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            // A browser that runs is open.
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
