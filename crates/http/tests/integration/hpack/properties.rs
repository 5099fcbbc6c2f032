//! Properties of HPACK: lists come back, any bytes are bounded, and a second implementation agrees.

use millrace_http::h2::FieldList;
use millrace_http::h2::hpack::{Decoder, Encoder, Indexing};
use proptest::collection::vec;
use proptest::prelude::*;

type Field = (Vec<u8>, Vec<u8>);

/// Fields, some of which come again and again.
fn field() -> impl Strategy<Value = Field> {
    let common = prop::sample::select(vec![
        (&b":method"[..], &b"GET"[..]),
        (b":path", b"/users/1"),
        (b"cookie", b"a=b"),
        (b"x-long", &[b'v'; 700]),
        (b"", b""),
    ]);
    let any_field = ("[a-z-]{0,12}", vec(any::<u8>(), 0..60));
    prop_oneof![
        common.prop_map(|(name, value)| (name.to_vec(), value.to_vec())),
        any_field.prop_map(|(name, value)| (name.into_bytes(), value)),
    ]
}

fn indexing() -> impl Strategy<Value = Indexing> {
    prop::sample::select(vec![
        Indexing::IfRoom,
        Indexing::Always,
        Indexing::Without,
        Indexing::Never,
    ])
}

/// A block: sizes of the table that are set before it, and its fields.
fn block() -> impl Strategy<Value = (Vec<usize>, Vec<(Field, Indexing)>)> {
    (vec(0..6000usize, 0..3), vec((field(), indexing()), 1..12))
}

fn decode_all(decoder: &mut Decoder, block: &[u8]) -> Option<Vec<Field>> {
    let mut list = FieldList::default();
    decoder.decode(block, &mut list, usize::MAX).ok()?;
    Some(list.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect())
}

proptest! {
    #[test]
    fn lists_come_back_whatever_the_sizes_of_the_table(blocks in vec(block(), 1..12)) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        let mut other = fluke_hpack::Decoder::new();
        for (sizes, fields) in blocks {
            for size in sizes {
                encoder.set_max_table_size(size);
                decoder.set_max_table_size(size);
            }
            let mut block = Vec::new();
            let before = encoder.generation();
            encoder.begin(&mut block);
            for ((name, value), indexing) in &fields {
                encoder.encode(name, value, *indexing, &mut block);
            }
            let expected: Vec<Field> = fields.into_iter().map(|(field, _)| field).collect();
            prop_assert_eq!(decode_all(&mut decoder, &block), Some(expected.clone()));
            prop_assert_eq!(other.decode(&block).ok(), Some(expected.clone()), "the other decoder");
            // A block that changes nothing may be sent again.
            if encoder.generation() == before {
                prop_assert_eq!(decode_all(&mut decoder, &block), Some(expected));
            }
        }
    }

    #[test]
    fn any_bytes_are_bounded_and_decoded_as_the_other_decoder_does(
        blocks in vec(vec(any::<u8>(), 0..80), 1..4),
        most in 0..300usize,
    ) {
        let (mut decoder, mut bounded) = (Decoder::new(4096), Decoder::new(4096));
        let mut other = fluke_hpack::Decoder::new();
        for block in blocks {
            let mut list = FieldList::default();
            let result = bounded.decode(&block, &mut list, most);
            prop_assert!(list.size() <= most);
            let decoded = decode_all(&mut decoder, &block);
            prop_assert_eq!(decoded.is_some(), result.is_ok(), "the bound changes no verdict");
            // The other one accepts more: sizes of the table between fields, and integers of any length.
            // And it refuses a block that has nothing but a size.
            if let Some(decoded) = decoded {
                prop_assume!(!decoded.is_empty() || block.is_empty());
                prop_assert_eq!(Some(decoded), other.decode(&block).ok());
            } else {
                break;
            }
        }
    }
}
