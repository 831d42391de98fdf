//! Where the bytes come from: files, standard input, and what is compressed in them.

use std::fmt;
use std::io::{self, Read};

/// How the input is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Compression {
    /// `.gz`, of one or more members.
    Gzip,
    /// `.zst`, of one or more frames.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        })
    }
}

/// The format that the first bytes announce. `None`: more bytes are needed.
fn recognise(head: &[u8]) -> Option<Option<Compression>> {
    const GZIP: [u8; 2] = [0x1F, 0x8B];
    const FRAME: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
    // Some compressors put a frame that is to be skipped in front; the first byte has 16 variants.
    let skippable = |i: usize, byte: u8| if i == 0 { byte >> 4 == 5 } else { byte == [0, 0x2A, 0x4D, 0x18][i] };
    if head.iter().zip(GZIP).all(|(&byte, magic)| byte == magic) {
        return (head.len() >= 2).then_some(Some(Compression::Gzip));
    }
    if head.iter().zip(FRAME).all(|(&byte, magic)| byte == magic)
        || head.iter().take(4).enumerate().all(|(i, &byte)| skippable(i, byte))
    {
        return (head.len() >= 4).then_some(Some(Compression::Zstd));
    }
    Some(None)
}

/// The input, decompressed.
pub(crate) enum Input<'a> {
    /// Nothing was read yet.
    Unopened(Box<dyn Read + Send + 'a>),
    Open {
        from: Box<dyn Read + Send + 'a>,
        format: Option<Compression>,
    },
    Failed,
}

impl<'a> Input<'a> {
    /// Reads what is there, at least one byte unless the input is at its end.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Input::Open { from, .. } => match from.read(into) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => return result,
                },
                Input::Unopened(_) => {
                    if let Input::Unopened(raw) = std::mem::replace(self, Input::Failed) {
                        *self = open(raw)?;
                    }
                }
                Input::Failed => return Ok(0),
            }
        }
    }

    pub fn format(&self) -> Option<Compression> {
        match self {
            Input::Open { format, .. } => *format,
            _ => None,
        }
    }
}

/// Reads only as many bytes as are needed to tell the format, so that text is never waited for.
fn open<'a>(mut raw: Box<dyn Read + Send + 'a>) -> io::Result<Input<'a>> {
    let mut head = Vec::with_capacity(4);
    let format = loop {
        if let Some(format) = recognise(&head) {
            break format;
        }
        let mut byte = [0];
        match raw.read(&mut byte) {
            Ok(0) => break None,
            Ok(_) => head.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    let whole = io::Cursor::new(head).chain(raw);
    let from: Box<dyn Read + Send + 'a> = match format {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::new(whole)?),
    };
    Ok(Input::Open { from, format })
}

/// Data that may be compressed, as it was before.
pub fn decompressed(data: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    match open(Box::new(io::Cursor::new(data)))? {
        Input::Open { mut from, .. } => from.read_to_end(&mut all)?,
        _ => 0,
    };
    Ok(all)
}
