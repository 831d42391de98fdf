//! Limits as people write them: `500ms`, `10s`, `2m`; `512MB`, `4GiB`.

use std::time::Duration;

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok().filter(|n: &f64| n.is_finite())?;
    Some((number, text[end..].trim()))
}

/// A time limit; `None` means no limit.
pub fn time(text: &str) -> Result<Option<Duration>, String> {
    const HOW: &str = "write a number with its unit, such as 500ms, 10s, 2m or 1h, or `none`";
    if text == "none" {
        return Ok(None);
    }
    let (number, unit) = split(text).ok_or(HOW)?;
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(format!("the unit is missing: did you mean {text}s?")),
        _ => return Err(format!("unknown unit `{unit}`; {HOW}")),
    };
    Duration::try_from_secs_f64(number * seconds).map(Some).map_err(|_| "that is too long; write `none`".into())
}

/// A memory limit in bytes; `None` means no limit.
pub fn memory(text: &str) -> Result<Option<usize>, String> {
    const HOW: &str = "write a number with its unit, such as 512MB, 4GiB or 4G, or `none`";
    if text == "none" {
        return Ok(None);
    }
    let (number, unit) = split(text).ok_or(HOW)?;
    let bytes: f64 = match unit.to_ascii_lowercase().as_str() {
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "b" => 1.0,
        "" => return Err(format!("the unit is missing: did you mean {text}MiB or {text}GiB?")),
        _ => return Err(format!("unknown unit `{unit}`; {HOW}")),
    };
    let total = number * bytes;
    if total >= usize::MAX as f64 {
        return Err("that is more than this machine can address; write `none`".into());
    }
    Ok(Some(total as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let good = [("500ms", 0.5), ("10s", 10.0), ("2m", 120.0), ("1.5h", 5400.0), ("0s", 0.0)];
        for (text, seconds) in good {
            assert_eq!(time(text), Ok(Some(Duration::from_secs_f64(seconds))), "{text}");
        }
        assert_eq!(time("none"), Ok(None));
        for bad in ["", "10", "s", "-1s", "1.2.3s", "10 parsecs", "1e400s", "99999999999999999999999h", "nan", "infs"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        let good = [("4GiB", 4 << 30), ("512MB", 512_000_000), ("1k", 1024), ("7b", 7), ("0.5G", 1 << 29)];
        for (text, bytes) in good {
            assert_eq!(memory(text), Ok(Some(bytes)), "{text}");
        }
        assert_eq!(memory("none"), Ok(None));
        for bad in ["", "10", "GiB", "-1G", "1XB", "99999999999T"] {
            assert!(memory(bad).is_err(), "{bad}");
        }
    }
}
