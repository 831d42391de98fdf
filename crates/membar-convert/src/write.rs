//! Operations as the text of a trace.

use crate::op::{Kind, Op, Place, Section};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// What to leave out, and what to take for granted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// Leave out accesses of memory that only one hart uses.
    pub shared: bool,
    /// Memory is 0 at the start, even if something else is read first.
    pub zero: bool,
}

/// Ranges of memory that overlap, as one; for each, whether all its accesses have one address and size.
struct Layout {
    /// First byte to one past the last, and the only access there, if there is only one.
    cells: BTreeMap<u64, (u64, Option<(u64, u8)>)>,
}

impl Layout {
    fn new(places: impl Iterator<Item = (u64, u8)>) -> Layout {
        let mut all: Vec<(u64, u8)> = places.collect();
        all.sort_unstable();
        all.dedup();
        let mut cells: BTreeMap<u64, (u64, Option<(u64, u8)>)> = BTreeMap::new();
        for (address, size) in all {
            let end = address.saturating_add(u64::from(size.max(1)));
            match cells.last_entry() {
                Some(mut last) if address < last.get().0 => {
                    let (until, only) = last.get_mut();
                    *until = end.max(*until);
                    *only = None;
                }
                // Whole words have 8 bytes at most, and what may be torn is no word.
                _ => {
                    let whole = size <= 8 && address.is_multiple_of(size.max(1).into());
                    cells.insert(address, (end, whole.then_some((address, size))));
                }
            }
        }
        Layout { cells }
    }

    /// The first byte of the cell that holds this address.
    fn cell(&self, address: u64) -> u64 {
        self.cells.range(..=address).next_back().map_or(address, |(&start, _)| start)
    }

    /// Some bytes of a cell.
    fn part(&self, place: &Place) -> String {
        let cell = self.cell(place.address);
        match place.address - cell {
            0 => format!("M[{cell:#x}]:{}", place.size),
            offset => format!("M[{cell:#x}]+{offset}:{}", place.size),
        }
    }

    /// Have all accesses of the cell that holds this address one address and size?
    fn uniform(&self, address: u64) -> bool {
        self.cells.range(..=address).next_back().is_some_and(|(_, (_, only))| only.is_some())
    }
}

/// Writes a trace. Accesses that overlap others of another size are parts of one location. A misaligned load or
/// store may be torn into bytes: the log does not say whether the machine did it at once.
pub fn write(section: &Section, choices: Choices, out: &mut String, notes: &mut Vec<(String, u64)>) {
    let sized = |place: &&Place| place.name.is_none() && place.size > 0;
    let places = section.ops.iter().filter(|op| op.accesses()).map(|op| &op.place);
    let places = places.chain(section.init.iter().chain(&section.last).map(|(place, _)| place));
    let layout = Layout::new(places.filter(sized).map(|place| (place.address, place.size)));
    let key = |place: &Place| match (&place.name, place.size) {
        (Some(name), _) => (Some(name.clone()), 0),
        (None, 0) => (None, place.address),
        (None, _) => (None, layout.cell(place.address)),
    };
    let mut users: HashMap<(Option<String>, u64), HashSet<u32>> = HashMap::new();
    if choices.shared {
        for op in section.ops.iter().filter(|op| op.accesses()) {
            users.entry(key(&op.place)).or_default().insert(op.hart);
        }
    }
    let private =
        |op: &Op| choices.shared && op.accesses() && users.get(&key(&op.place)).is_none_or(|harts| harts.len() < 2);
    let mixed = |place: &Place| sized(&place) && !layout.uniform(place.address);
    let address = |place: &Place| if mixed(place) { layout.part(place) } else { address(place) };
    let one = |op: &Op| one(op, &address(&op.place));

    let mut init: Vec<(String, u128)> = section.init.iter().map(|(place, value)| (address(place), *value)).collect();
    if section.in_order && !choices.zero {
        let (mut seen, mut bytes) = (HashSet::new(), HashSet::new());
        for op in section.ops.iter().filter(|op| op.accesses() && op.kind != Kind::ScFails && !private(op)) {
            if mixed(&op.place) {
                for i in 0..u64::from(op.place.size) {
                    let place = Place { address: op.place.address + i, size: 1, name: None };
                    let read = op.returned().map_or(0, |value| value >> (8 * i) & 0xff);
                    if bytes.insert(place.address) && read != 0 {
                        init.push((layout.part(&place), read));
                    }
                }
            } else if seen.insert(address(&op.place)) {
                init.extend(op.returned().filter(|&value| value != 0).map(|value| (address(&op.place), value)));
            }
        }
        if !init.is_empty() {
            notes.push((
                "addresses that are read before anything is stored there: what is read is their initial value".into(),
                init.len() as u64,
            ));
        }
    }
    for (address, value) in &init {
        let _ = writeln!(out, "init {address} == {value:#x}");
    }
    // The number of lines that each hart has, and the line of each operation among them.
    let mut count: HashMap<u32, u64> = HashMap::new();
    let mut line: Vec<Option<u64>> = Vec::with_capacity(section.ops.len());
    let (mut left_out, mut torn) = (0, 0);
    let elsewhere = elsewhere(section);
    for (number, op) in section.ops.iter().enumerate() {
        if private(op) {
            left_out += 1;
            line.push(None);
            continue;
        }
        let at = count.entry(op.hart).or_default();
        *at += 1;
        line.push(Some(*at));
        match op.kind {
            Kind::Sc(value) if elsewhere.contains(&number) => {
                out.push_str(&one(&Op { kind: Kind::Store(value), ..op.clone() }));
            }
            _ => out.push_str(&one(op)),
        }
        if op.torn() {
            torn += 1;
            let _ = write!(out, " pieces({})", vec!["1"; op.place.size.into()].join(","));
        }
        for (how, name) in [
            (membar_core::Depends::Address, "addr"),
            (membar_core::Depends::Data, "data"),
            (membar_core::Depends::Control, "ctrl"),
        ] {
            let mut back: Vec<u64> = op
                .depends
                .iter()
                .filter(|(kind, on)| *kind == how && !elsewhere.contains(on))
                .filter_map(|&(_, on)| Some(*at - line[on]?))
                .collect();
            back.sort_unstable();
            back.dedup();
            if !back.is_empty() {
                let list: Vec<String> = back.iter().map(|back| format!("-{back}")).collect();
                let _ = write!(out, " {name}({})", list.join(","));
            }
        }
        if op.begin.is_some() || op.end.is_some() {
            let time = |time: Option<u64>| time.map(|time| time.to_string()).unwrap_or_default();
            let _ = write!(out, " @ {}:{}", time(op.begin), time(op.end));
        }
        if let Some(pc) = op.pc {
            let _ = write!(out, " ! {pc:#x}");
        }
        out.push('\n');
    }
    for (place, value) in &section.last {
        let _ = writeln!(out, "final {} == {value}", address(place));
    }
    if torn > 0 {
        notes.push(("misaligned loads and stores: taken to be performed byte by byte, in any order".into(), torn));
    }
    if !elsewhere.is_empty() {
        let text = "store conditionals to other bytes than the load reserved: taken for stores";
        notes.push((text.into(), elsewhere.len() as u64));
    }
    if left_out > 0 {
        notes.push(("accesses of memory that only one hart uses: left out".into(), left_out));
    }
    out.push_str("check\n");
}

/// Store conditionals that stored to other bytes than the load reserved before them read. A machine may do that, since it may
/// reserve more than was read; a trace cannot say it.
fn elsewhere(section: &Section) -> HashSet<usize> {
    let mut reserved: HashMap<u32, &Place> = HashMap::new();
    let mut found = HashSet::new();
    for (number, op) in section.ops.iter().enumerate() {
        match op.kind {
            Kind::Lr(_) => drop(reserved.insert(op.hart, &op.place)),
            Kind::Sc(_) | Kind::ScFails => {
                let other = reserved.remove(&op.hart).is_some_and(|place| *place != op.place);
                if other && op.kind != Kind::ScFails {
                    found.insert(number);
                }
            }
            _ => {}
        }
    }
    found
}

fn address(place: &Place) -> String {
    match &place.name {
        Some(name) => name.clone(),
        None if place.size == 0 && place.address < 4096 => format!("M[{}]", place.address),
        None => format!("M[{:#x}]", place.address),
    }
}

/// The line of an operation, without dependencies and what follows them.
fn one(op: &Op, at: &str) -> String {
    // Values of machine words read better in hexadecimal, those of test programs in decimal.
    let value = |value: u128| if op.place.size > 0 { format!("{value:#x}") } else { value.to_string() };
    let mut text = format!("{}: ", op.hart);
    let _ = match &op.kind {
        Kind::Load(read) => write!(text, "{at} == {}", value(*read)),
        Kind::Store(written) => write!(text, "{at} := {}", value(*written)),
        Kind::Rmw(read, written) => write!(text, "{{ {at} == {}; {at} := {} }}", value(*read), value(*written)),
        Kind::Lr(read) => write!(text, "lr {at} == {}", value(*read)),
        Kind::Sc(written) => write!(text, "sc {at} := {}", value(*written)),
        Kind::ScFails => write!(text, "sc {at} fails"),
        Kind::Fence(words) => write!(text, "{words}"),
    };
    if op.order.acquire {
        text.push_str(" aq");
    }
    if op.order.release {
        text.push_str(" rl");
    }
    text
}
