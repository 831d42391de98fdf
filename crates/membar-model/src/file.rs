//! From what the user gives to `--model` to a model.

use crate::{ErrorKind, ModelError, SOURCES, builtin, names, parse};
use membar_core::{Model, nearest, quoted};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest model file that is read, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;

/// The model that a user means: the name of a built-in one, or else the path of a file that ends in `.toml`.
pub fn load(name_or_path: &str) -> Result<Model, ModelError> {
    if let Some(model) = builtin(name_or_path) {
        return Ok(model.clone());
    }
    let path = Path::new(name_or_path);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text = read(path).map_err(|fault| fault.error(name_or_path))?;
        return parse(name_or_path, &text);
    }
    let error = ModelError::new(ErrorKind::UnknownModel, format!("there is no model {}", quoted(name_or_path)))
        .note(format!("built-in models: {}", names()));
    Err(if let Some(meant) = nearest(name_or_path, SOURCES.map(|(name, _)| name)) {
        error.help(format!("did you mean `{meant}`?"))
    } else if path.is_file() {
        error.help("a file is read as a model if its name ends in `.toml`")
    } else {
        error.help("for a model of your own, give the path of its `.toml` file")
    })
}

enum Fault {
    Io(io::Error),
    Directory,
    TooLarge,
    NotUtf8 { at: usize },
}

impl Fault {
    fn error(self, path: &str) -> ModelError {
        let path = quoted(path);
        let unreadable = |message: String| ModelError::new(ErrorKind::Unreadable, message);
        match self {
            Fault::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                unreadable(format!("the model file {path} does not exist"))
                    .help(format!("built-in models: {}; `membar models show tso` prints one to start from", names()))
            }
            Fault::Io(error) => unreadable(format!("the model file {path} cannot be read: {error}")),
            Fault::Directory => {
                unreadable(format!("{path} is a directory")).help("give the path of the model file itself")
            }
            Fault::TooLarge => unreadable(format!("the model file {path} is larger than {MOST_BYTES} bytes"))
                .help("a model file has some twenty lines; is this another kind of file?"),
            Fault::NotUtf8 { at } => unreadable(format!("the model file {path} is not UTF-8 text (byte {at})"))
                .help("save it as UTF-8; is this another kind of file?"),
        }
    }
}

fn read(path: &Path) -> Result<String, Fault> {
    if path.is_dir() {
        return Err(Fault::Directory);
    }
    let mut bytes = Vec::new();
    // The length is counted while reading: for a pipe or a device the file system does not know it.
    File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(Fault::Io)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Fault::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| Fault::NotUtf8 { at: error.utf8_error().valid_up_to() })
}
