//! Where traces are read from.
//!
//! A regular file is read directly. Anything that may make its reader wait (standard input, a pipe) is read by a thread
//! of its own, so that the interrupt key is noticed while nothing arrives.

use crate::progress::Progress;
use membar::trace::Error;
use membar::{Interrupt, Reader};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Bytes read in one go.
const CHUNK: usize = 128 << 10;
/// How long the interrupt key may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens a file; `-` is standard input.
pub fn open(path: &Path, interrupt: &Interrupt, progress: &Arc<Progress>) -> Result<Reader<'static>, Error> {
    let progress = Arc::clone(progress);
    if path.as_os_str() == "-" {
        let source = Waiting::new(|| Ok(io::stdin()), interrupt);
        return Ok(Reader::new("<stdin>", Counted { source, progress }));
    }
    let name = path.to_string_lossy();
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => match File::open(path) {
            Ok(source) => Ok(Reader::new(name, Counted { source, progress })),
            Err(_) => Reader::open(path), // which says what is wrong
        },
        Ok(data) if !data.is_dir() => {
            let path = path.to_owned();
            let source = Waiting::new(move || File::open(path), interrupt);
            Ok(Reader::new(name, Counted { source, progress }))
        }
        _ => Reader::open(path),
    }
}

/// Counts bytes for the progress line.
struct Counted<R> {
    source: R,
    progress: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(into)?;
        self.progress.done(n);
        Ok(n)
    }
}

/// Input that may have to be waited for. At an interrupt it ends.
struct Waiting {
    arriving: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// How much of `chunk` was handed out.
    taken: usize,
    interrupt: Interrupt,
}

impl Waiting {
    fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, interrupt: &Interrupt) -> Waiting {
        let (send, arriving) = sync_channel(2);
        std::thread::spawn(move || {
            let mut source = match open() {
                Ok(source) => source,
                Err(error) => return drop(send.send(Err(error))),
            };
            loop {
                let mut chunk = vec![0; CHUNK];
                let sent = match source.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(n) => {
                        chunk.truncate(n);
                        send.send(Ok(chunk))
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                    Err(error) => return drop(send.send(Err(error))),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Waiting { arriving, chunk: Vec::new(), taken: 0, interrupt: interrupt.clone() }
    }
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.chunk.len() {
            if self.interrupt.pressed() {
                return Ok(0);
            }
            match self.arriving.recv_timeout(PATIENCE) {
                Ok(chunk) => (self.chunk, self.taken) = (chunk?, 0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let n = into.len().min(self.chunk.len() - self.taken);
        into[..n].copy_from_slice(&self.chunk[self.taken..self.taken + n]);
        self.taken += n;
        Ok(n)
    }
}
