//! Text with placeholders: refused or rendered; without placeholders it is itself.
#![no_main]

use millrace_load::plan::Table;
use millrace_load::template::{Names, Template, TextPosition, Values, table_names};

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let (name, columns, rows) = ("t".into(), vec!["c".into()], vec![vec!["cell".into()]]);
    let (tables, mut random) = ([Table { name, columns, rows }], fastrand::Rng::with_seed(7));
    let names = Names { tables: &tables, variables: &[] };
    let Ok(template) = Template::parse(text, names, TextPosition::Body) else { return };
    assert!(table_names(text, &[]).is_ok());
    let mut out = Vec::new();
    template.render(&mut Values::new(7, &mut random), &mut out);
    assert!(out == text || !template.is_static());
});
