//! The object file: its sections and its ELF symbol table.
//!
//! The bytes are shared ([`Arc`]), so that the reader of lines can keep them without borrowing. Symbols are sorted by
//! address and found by binary search.

use crate::{Named, Scalar, SymbolError, demangle};
use gimli::{Dwarf, EhFrame, EndianArcSlice, EndianSlice, RunTimeEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use rustc_hash::FxHashMap;
use std::convert::Infallible;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The reader that everything but the line tables uses: it costs nothing to copy.
pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
/// The reader of the line tables: it keeps the file.
pub(crate) type Shared = EndianArcSlice<RunTimeEndian>;

/// The largest file that is read.
const LARGEST: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct Image {
    bytes: Arc<[u8]>,
    endian: RunTimeEndian,
    sections: FxHashMap<&'static str, Section>,
    /// Sections with code.
    code: Vec<Section>,
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    thread_locals: Vec<Symbol>,
}

/// Invariant: the range is within the file.
#[derive(Debug)]
struct Section {
    range: Range<usize>,
    address: u64,
}

#[derive(Debug)]
struct Symbol {
    start: u64,
    size: u64,
    name: String,
}

impl Image {
    pub fn load(path: &Path) -> Result<Image, SymbolError> {
        let read = |source| SymbolError::Read { path: path.to_owned(), source };
        let size = fs::metadata(path).map_err(read)?.len();
        if size > LARGEST {
            return Err(SymbolError::TooLarge { path: path.to_owned(), size });
        }
        let bytes: Arc<[u8]> = fs::read(path).map_err(read)?.into();
        Image::new(bytes).map_err(|source| SymbolError::Format { path: path.to_owned(), source })
    }

    fn new(bytes: Arc<[u8]>) -> Result<Image, object::Error> {
        let file = ElfFile64::<Endianness>::parse(&*bytes)?;
        let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let mut sections = FxHashMap::default();
        for name in SECTIONS.map(|id| id.name()) {
            if let Some(section) = file.section_by_name(name)
                && let Some(range) = bytes_of(&section, bytes.len())
            {
                sections.insert(name, Section { range, address: section.address() });
            }
        }
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let code = code.filter_map(|section| {
            bytes_of(&section, bytes.len()).map(|range| Section { range, address: section.address() })
        });
        let code = code.collect();
        let (mut functions, mut variables, mut thread_locals) = (Vec::new(), Vec::new(), Vec::new());
        // Both tables: a stripped object has only the dynamic one.
        for symbol in file.symbols().chain(file.dynamic_symbols()).filter(|symbol| !symbol.is_undefined()) {
            let table = match symbol.kind() {
                SymbolKind::Text => &mut functions,
                SymbolKind::Data => &mut variables,
                SymbolKind::Tls => &mut thread_locals,
                _ => continue,
            };
            if let Ok(name) = symbol.name()
                && !name.is_empty()
            {
                table.push(Symbol { start: symbol.address(), size: symbol.size(), name: name.to_owned() });
            }
        }
        for table in [&mut functions, &mut variables, &mut thread_locals] {
            // Of several names for one thing, the shortest is the one that the source uses.
            table.sort_by(|a, b| (a.start, a.name.len(), &a.name).cmp(&(b.start, b.name.len(), &b.name)));
            table.dedup_by_key(|symbol| symbol.start);
        }
        drop(file);
        Ok(Image { bytes, endian, sections, code, functions, variables, thread_locals })
    }

    fn section(&self, name: &str) -> &[u8] {
        self.sections.get(name).and_then(|section| self.bytes.get(section.range.clone())).unwrap_or_default()
    }

    /// The bytes of code at an address; none if there is not that much.
    pub fn code(&self, start: u64, size: u64) -> &[u8] {
        let find = |section: &Section| {
            let from = usize::try_from(start.checked_sub(section.address)?).ok()?;
            let to = from.checked_add(usize::try_from(size).ok()?)?;
            self.bytes.get(section.range.clone())?.get(from..to)
        };
        self.code.iter().find_map(find).unwrap_or_default()
    }

    /// The debug information. Missing sections are empty.
    pub fn dwarf(&self) -> Dwarf<Slice<'_>> {
        let load = |id: SectionId| Ok(EndianSlice::new(self.section(id.name()), self.endian));
        whole(Dwarf::load(load))
    }

    /// The debug information with readers that keep the file.
    pub fn shared_dwarf(&self) -> Dwarf<Shared> {
        let file = EndianArcSlice::new(self.bytes.clone(), self.endian);
        whole(Dwarf::load(|id: SectionId| {
            Ok(file.range(self.sections.get(id.name()).map_or(0..0, |section| section.range.clone())))
        }))
    }

    /// Where frames are, for the unwinder, and the address of that section.
    pub fn eh_frame(&self) -> Option<(EhFrame<Slice<'_>>, u64)> {
        let section = self.sections.get(SectionId::EhFrame.name())?;
        Some((EhFrame::new(self.bytes.get(section.range.clone())?, self.endian), section.address))
    }

    pub fn has_lines(&self) -> bool {
        self.sections.contains_key(SectionId::DebugInfo.name())
    }

    /// The symbol of the function at an address.
    /// Whether there is a function whose name has this in it.
    pub fn has_function(&self, part: &str) -> bool {
        self.functions.iter().any(|symbol| symbol.name.contains(part))
    }

    pub fn function(&self, pc: u64) -> Option<&str> {
        covering(&self.functions, pc, true).map(|symbol| symbol.name.as_str())
    }

    pub fn variable(&self, offset: u64, size: u64) -> Option<Named> {
        named(covering(&self.variables, offset, false)?, offset, size)
    }

    pub fn thread_local(&self, offset: u64, size: u64) -> Option<Named> {
        named(covering(&self.thread_locals, offset, false)?, offset, size)
    }

    /// The linker's name and size of the variable that begins at an address.
    pub fn symbol(&self, start: u64) -> Option<(&str, u64)> {
        let at = self.variables.binary_search_by_key(&start, |symbol| symbol.start).ok()?;
        self.variables.get(at).map(|symbol| (symbol.name.as_str(), symbol.size))
    }
}

const SECTIONS: [SectionId; 14] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
    SectionId::EhFrame,
];

/// Loading from memory cannot fail.
fn whole<R>(dwarf: Result<Dwarf<R>, Infallible>) -> Dwarf<R> {
    match dwarf {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

/// The bytes of a section. Compressed sections (`-gz`) count as missing.
fn bytes_of<'a>(section: &impl ObjectSection<'a>, file: usize) -> Option<Range<usize>> {
    let place = section.compressed_file_range().ok()?;
    if place.format != object::CompressionFormat::None {
        return None;
    }
    let start = usize::try_from(place.offset).ok()?;
    let end = start.checked_add(usize::try_from(place.compressed_size).ok()?)?;
    (end <= file && start < end).then_some(start..end)
}

/// The symbol that an address belongs to. Hand-written functions may have no size: they end where the next begins.
fn covering(symbols: &[Symbol], at: u64, unsized_too: bool) -> Option<&Symbol> {
    let symbol = &symbols[symbols.partition_point(|symbol| symbol.start <= at).checked_sub(1)?];
    let inside = at - symbol.start < symbol.size || (unsized_too && symbol.size == 0);
    inside.then_some(symbol)
}

fn named(symbol: &Symbol, offset: u64, size: u64) -> Option<Named> {
    let mut name = demangle::short(&symbol.name);
    let at = offset - symbol.start;
    // Without a type, a part of a variable is just this many bytes into it.
    if at > 0 {
        name.push_str(&format!("+{at}"));
    }
    let ty = if at == 0 && size == symbol.size && size <= 8 { Scalar::Unsigned } else { Scalar::Unknown };
    Some(Named { name, ty })
}
