//! Runs the cases of `vectors/*.md`; `vectors/README.md` says how they are written.

use crate::{markdown, stream};

#[test]
fn every_case_has_its_outcome_however_it_is_split() {
    markdown::run("tests/vectors", 150, |case, stream, pieces| {
        let methods = case.line("Requests").unwrap_or_default();
        let heads: Vec<bool> = methods.split(' ').map(|method| method == "HEAD").collect();
        let events = stream::read(stream, pieces, &heads);
        events.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    });
}
