//! One entry of the debug information: the attributes that are of use here, decoded.

use crate::image::Slice;
use gimli::{AttributeValue, DebugAddrIndex, Dwarf, EndianSlice, EntriesRaw, Expression, Operation, Unit, UnitOffset};
use rustc_hash::FxHashMap;

/// An entry, by its offset in `.debug_info`.
pub(crate) type Die = u64;

/// The ranges of one entry that are examined; real code has no more.
const MAX_RANGES: usize = 4096;

/// A unit, with what is needed to follow its references.
pub(crate) struct Reader<'a> {
    pub dwarf: &'a Dwarf<Slice<'a>>,
    pub unit: Unit<Slice<'a>>,
    /// Type units (`-fdebug-types-section`) by their signature.
    pub signatures: &'a FxHashMap<u64, Die>,
}

/// The contents of an entry; missing parts are `None` or `false`.
#[derive(Default)]
pub(crate) struct Entry<'a> {
    pub name: Option<&'a [u8]>,
    pub ty: Option<Die>,
    /// The entry that says the rest: `DW_AT_specification` or `DW_AT_abstract_origin`.
    pub origin: Option<Die>,
    pub size: Option<u64>,
    pub bit_size: Option<u64>,
    /// From the start of the struct.
    pub data_bit_offset: Option<u64>,
    /// Of DWARF 3: from the most significant bit of the storage.
    pub bit_offset: Option<u64>,
    /// Where a member is in its struct.
    pub member_at: Option<u64>,
    /// The place of a member must be computed (a virtual base class).
    pub computed: bool,
    pub declaration: bool,
    pub external: bool,
    pub file: Option<u64>,
    pub encoding: Option<gimli::DwAte>,
    /// How many elements an array's dimension has.
    pub count: Option<u64>,
    pub value: Option<i64>,
    pub location: Option<AttributeValue<Slice<'a>>>,
    pub frame_base: Option<AttributeValue<Slice<'a>>>,
    low: Option<u64>,
    high: Option<AttributeValue<Slice<'a>>>,
    ranges: Option<AttributeValue<Slice<'a>>>,
}

/// Where a variable with one place for the whole run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Static {
    /// At an address.
    Address(u64),
    /// In the thread's own block.
    ThreadLocal(u64),
}

impl<'a> Reader<'a> {
    /// The entry at an offset of this unit.
    pub fn die(&self, offset: UnitOffset) -> Die {
        offset.to_unit_section_offset(&self.unit).as_debug_info_offset().map_or(0, |offset| offset.0 as u64)
    }

    /// Reads the attributes of an entry.
    pub fn entry(
        &self,
        entries: &mut EntriesRaw<'_, '_, Slice<'a>>,
        abbrev: &gimli::Abbreviation,
    ) -> gimli::Result<Entry<'a>> {
        let mut entry = Entry::default();
        for spec in abbrev.attributes() {
            let attr = entries.read_attribute(*spec)?;
            let value = attr.value();
            match attr.name() {
                gimli::DW_AT_name => {
                    entry.name = self.dwarf.attr_string(&self.unit, value).ok().map(|name| name.slice());
                }
                gimli::DW_AT_type => entry.ty = self.reference(value),
                gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => entry.origin = self.reference(value),
                gimli::DW_AT_byte_size => entry.size = value.udata_value(),
                gimli::DW_AT_bit_size => entry.bit_size = value.udata_value(),
                gimli::DW_AT_bit_offset => entry.bit_offset = value.udata_value(),
                gimli::DW_AT_data_bit_offset => entry.data_bit_offset = value.udata_value(),
                gimli::DW_AT_data_member_location => match value {
                    AttributeValue::Exprloc(expr) => {
                        entry.member_at = self.added(expr);
                        entry.computed = entry.member_at.is_none();
                    }
                    value => {
                        entry.member_at = value.udata_value();
                        entry.computed = entry.member_at.is_none();
                    }
                },
                gimli::DW_AT_declaration => entry.declaration = flag(&value),
                gimli::DW_AT_external => entry.external = flag(&value),
                gimli::DW_AT_decl_file => {
                    entry.file = match value {
                        AttributeValue::FileIndex(file) => Some(file),
                        value => value.udata_value(),
                    }
                }
                gimli::DW_AT_encoding => {
                    if let AttributeValue::Encoding(encoding) = value {
                        entry.encoding = Some(encoding);
                    }
                }
                gimli::DW_AT_count => entry.count = value.udata_value(),
                gimli::DW_AT_upper_bound => {
                    // The upper bound of an array without elements is -1.
                    entry.count = value.udata_value().map(|bound| bound.wrapping_add(1));
                    if entry.count.is_none() && value.sdata_value() == Some(-1) {
                        entry.count = Some(0);
                    }
                }
                gimli::DW_AT_const_value | gimli::DW_AT_discr_value => {
                    entry.value = match value {
                        AttributeValue::Sdata(value) => Some(value),
                        value => value.udata_value().map(|value| value as i64),
                    }
                }
                gimli::DW_AT_location => entry.location = Some(value),
                gimli::DW_AT_frame_base => entry.frame_base = Some(value),
                gimli::DW_AT_low_pc => entry.low = self.dwarf.attr_address(&self.unit, value).ok().flatten(),
                gimli::DW_AT_high_pc => entry.high = Some(value),
                gimli::DW_AT_ranges => entry.ranges = Some(value),
                _ => {}
            }
        }
        Ok(entry)
    }

    fn reference(&self, value: AttributeValue<Slice<'a>>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => {
                offset.to_debug_info_offset(&self.unit.header).map(|offset| offset.0 as u64)
            }
            AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// The code that an entry covers. Code at address 0 was thrown away by the linker.
    pub fn ranges(&self, entry: &Entry<'a>) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        if let Some(ranges) = entry.ranges {
            if let Ok(Some(mut ranges)) = self.dwarf.attr_ranges(&self.unit, ranges) {
                while let Ok(Some(range)) = ranges.next() {
                    if range.begin > 0 && range.begin < range.end && found.len() < MAX_RANGES {
                        found.push((range.begin, range.end));
                    }
                }
            }
        } else if let (Some(low), Some(high)) = (entry.low, entry.high) {
            let high = match self.dwarf.attr_address(&self.unit, high) {
                Ok(Some(high)) => Some(high),
                _ => high.udata_value().and_then(|size| low.checked_add(size)),
            };
            if let Some(high) = high
                && low > 0
                && low < high
            {
                found.push((low, high));
            }
        }
        found
    }

    /// The operations of an expression, if it has at most `N` of them.
    pub fn operations<const N: usize>(
        &self,
        expr: Expression<Slice<'a>>,
    ) -> Option<([Option<Operation<Slice<'a>>>; N], usize)> {
        let mut found = [const { None }; N];
        let mut count = 0;
        let mut operations = expr.operations(self.unit.encoding());
        while let Some(operation) = operations.next().ok()? {
            *found.get_mut(count)? = Some(operation);
            count += 1;
        }
        Some((found, count))
    }

    /// An expression that only adds a number: an old way to say where a member is.
    fn added(&self, expr: Expression<Slice<'a>>) -> Option<u64> {
        match self.operations::<1>(expr)?.0 {
            [Some(Operation::PlusConstant { value })] => Some(value),
            _ => None,
        }
    }

    /// The place of a variable that has one for the whole run.
    pub fn static_place(&self, entry: &Entry<'a>) -> Option<Static> {
        let AttributeValue::Exprloc(expr) = entry.location? else { return None };
        let ([first, second], _) = self.operations::<2>(expr)?;
        match (first?, second) {
            (first, None) => self.address(&first).map(Static::Address),
            (first, Some(Operation::PlusConstant { value })) => {
                self.address(&first)?.checked_add(value).map(Static::Address)
            }
            (Operation::UnsignedConstant { value }, Some(Operation::TLS)) => Some(Static::ThreadLocal(value)),
            (Operation::SignedConstant { value }, Some(Operation::TLS)) => Some(Static::ThreadLocal(value as u64)),
            (Operation::ConstantIndex { index }, Some(Operation::TLS)) => self.indexed(index).map(Static::ThreadLocal),
            // Split debug information of older compilers.
            (first, Some(Operation::TLS)) => self.address(&first).map(Static::ThreadLocal),
            _ => None,
        }
    }

    fn address(&self, operation: &Operation<Slice<'a>>) -> Option<u64> {
        match operation {
            Operation::Address { address } => Some(*address),
            Operation::AddressIndex { index } => self.indexed(*index),
            _ => None,
        }
    }

    fn indexed(&self, index: DebugAddrIndex<usize>) -> Option<u64> {
        self.dwarf.address(&self.unit, index).ok()
    }
}

fn flag(value: &AttributeValue<EndianSlice<'_, gimli::RunTimeEndian>>) -> bool {
    matches!(value, AttributeValue::Flag(true))
}

/// A name as text. Names are ASCII in practice; anything else must not stop a report.
pub(crate) fn text(name: &[u8]) -> Box<str> {
    String::from_utf8_lossy(name).into()
}
