//! A command line of `--name value` pairs.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

/// The options given on the command line.
pub struct Args {
    values: HashMap<String, String>,
}

impl Args {
    /// Reads the command line; every name must be one of `known`.
    ///
    /// # Errors
    /// One line naming what was given and what is accepted.
    pub fn read(known: &[&str]) -> Result<Self, String> {
        let mut values = HashMap::new();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").filter(|name| known.contains(name));
            let name =
                name.ok_or_else(|| format!("{word}: accepted are --{}", known.join(" --")))?;
            let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
            values.insert(name.to_owned(), value);
        }
        Ok(Self { values })
    }

    /// The text given for `name`.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The value given for `name`, or `default`.
    ///
    /// # Errors
    /// One line if the text cannot be parsed.
    pub fn value<T: FromStr<Err: Display>>(&self, name: &str, default: T) -> Result<T, String> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|error| format!("--{name} {text}: {error}")),
        }
    }
}
