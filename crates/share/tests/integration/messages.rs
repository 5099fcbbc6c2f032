//! What those who share a port say to each other, of whatever bytes. The fuzz target `sharing_messages` runs the same with bytes that
//! libFuzzer finds.

use proptest::prelude::*;

use crate::said;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes(messages in prop::collection::vec(message(), 0..6)) {
        said::run(&messages.concat());
    }

    #[test]
    fn any_text(text in "https?://([*+]|[a-z0-9.]{1,8}|\\[[0-9a-f:]{1,8}\\]):[0-9]{1,6}(/[ -~]{0,6}){0,3}/?") {
        said::run(text.as_bytes());
    }
}

/// A message's length, its kind, and bytes that may be its fields.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![3 => 0..4u8, 1 => any::<u8>()];
    let fields = prop::collection::vec(small, 0..40);
    (0..9u8, fields).prop_map(|(kind, fields)| {
        let length = u32::try_from(1 + fields.len()).unwrap();
        [&length.to_le_bytes()[..], &[kind], &fields].concat()
    })
}
