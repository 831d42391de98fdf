//! Memory models as data: the TOML format and the built-in models.
