//! The trace text format: streaming parser with precise errors, writer, gz and zst.
