//! The stories of `tests/hpack-stories`: blocks of other encoders are decoded, and lists survive ours.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use millrace_http::h2::FieldList;
use millrace_http::h2::hpack::{Decoder, Encoder, Indexing};
use serde::Deserialize;

/// Larger than any list of a story.
const LIMIT: usize = 1 << 20;

#[derive(Deserialize)]
struct Story {
    lists: Vec<Vec<(String, String)>>,
    encoders: HashMap<String, Encoded>,
}

#[derive(Deserialize)]
struct Encoded {
    wire: Vec<String>,
    table_sizes: Option<Vec<usize>>,
}

/// Reads all stories, with their names.
fn read_stories() -> Vec<(String, Story)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hpack-stories");
    let files =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path());
    let stories = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let read = |path: &Path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let stories: Vec<_> = stories.map(|path| (path.display().to_string(), read(&path))).collect();
    assert!(!stories.is_empty());
    stories
}

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn to_pairs(list: &FieldList) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    list.iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn blocks_of_other_encoders_are_decoded() {
    for (path, Story { lists, encoders }) in read_stories() {
        for (name, Encoded { wire, table_sizes }) in encoders {
            let mut decoder = Decoder::new(4096);
            for (at, (wire, expected)) in wire.iter().zip(&lists).enumerate() {
                if let Some(sizes) = &table_sizes {
                    decoder.set_max_table_size(sizes[at]);
                }
                let mut list = FieldList::default();
                let decoded = decoder.decode(&from_hex(wire), &mut list, LIMIT);
                assert!(
                    decoded.is_ok_and(|it| !it.is_too_large),
                    "{path}, {name}, {at}: {decoded:?}"
                );
                assert_eq!(&to_pairs(&list), expected, "{path}, {name}, {at}");
            }
        }
    }
}

#[test]
fn lists_survive_our_encoder() {
    let ways = [Indexing::IfRoom, Indexing::Always, Indexing::Without, Indexing::Never];
    for (path, Story { lists, .. }) in read_stories() {
        for indexing in ways {
            let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
            for (at, expected) in lists.iter().enumerate() {
                // The table is smaller for a while.
                if let Some(size) = [(3, 100), (5, 0), (8, 4096)].iter().find(|(of, _)| *of == at) {
                    encoder.set_max_table_size(size.1);
                    decoder.set_max_table_size(size.1);
                }
                let mut block = Vec::new();
                encoder.begin(&mut block);
                for (name, value) in expected {
                    encoder.encode(name.as_bytes(), value.as_bytes(), indexing, &mut block);
                }
                let mut list = FieldList::default();
                let decoded = decoder.decode(&block, &mut list, LIMIT);
                assert!(decoded.is_ok(), "{path}, {indexing:?}, {at}: {decoded:?}");
                assert_eq!(&to_pairs(&list), expected, "{path}, {indexing:?}, {at}");
            }
        }
    }
}
