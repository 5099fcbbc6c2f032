//! Dates, `Vary` and `Cache-Control` by themselves.

use millrace_cache::Vary;
use millrace_cache::fields::control::{RequestDirectives, ResponseDirectives};
use millrace_cache::fields::date;
use proptest::prelude::*;

const NOW: i64 = 1_700_000_000;

#[test]
fn dates() {
    let rows = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
        ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
        ("Sun Nov 06 08:49:37 1994", Some(784_111_777)),
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1)),
        ("Mon, 01 Jan 0001 00:00:00 GMT", Some(-62_135_596_800)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
        ("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800)),
        ("Tue, 29 Feb 2000 00:00:00 GMT", Some(951_782_400)),
        ("Sat, 31 Dec 2016 23:59:60 GMT", Some(1_483_228_800)),
        // Two digits for a year, seen from 2023: up to 2073.
        ("Friday, 01-Jan-99 00:00:00 GMT", Some(915_148_800)),
        ("Sunday, 01-Jan-73 00:00:00 GMT", Some(3_250_454_400)),
        ("Tuesday, 01-Jan-74 00:00:00 GMT", Some(126_230_400)),
        ("", None),
        ("0", None),
        ("-1", None),
        ("Sun, 06 Nov 1994 08:49:37", None),
        ("Sun, 06 Nov 1994 08:49:37 UTC", None),
        ("Sun, 06 Nov 1994 08:49:37 GMT ", None),
        ("Sun, 6 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 94 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:60:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:61 GMT", None),
        ("Sun, 06 Nov 1994 08.49.37 GMT", None),
        ("Sun, 31 Nov 1994 08:49:37 GMT", None),
        ("Sun, 00 Nov 1994 08:49:37 GMT", None),
        ("Thu, 29 Feb 2023 00:00:00 GMT", None),
        ("Thu, 29 Feb 1900 00:00:00 GMT", None),
        ("S1n, 06 Nov 1994 08:49:37 GMT", None),
        ("Sun, +6 Nov 1994 08:49:37 GMT", None),
        ("Sunday, 06-Nov-1994 08:49:37 GMT", None),
        ("Sun Nov 6 08:49:37 1994", None),
        ("Sun Nov  6 08:49:37 199x", None),
        ("\u{fc}\u{fc}, 06 Nov 1994 08:49:37 GMT", None),
    ];
    for (text, expected) in rows {
        assert_eq!(date::parse(text.as_bytes(), NOW), expected, "{text:?}");
    }
}

#[test]
fn vary() {
    let rows: [(&[&str], Option<&str>); 12] = [
        (&[], Some("")),
        (&[""], Some("")),
        (&[" , ,"], Some("")),
        (&["Accept"], Some("accept")),
        (&["B, a", "c,A"], Some("a,b,c")),
        (&["\tAccept-Encoding ,User-Agent"], Some("accept-encoding,user-agent")),
        (&["*"], None),
        (&["Accept, *"], None),
        (&["Accept", "*"], None),
        (&["Accept Encoding"], None),
        (&["Accept;q=1"], None),
        (&["\u{e4}"], None),
    ];
    for (values, expected) in rows {
        let vary = Vary::parse(values.iter().map(|value| value.as_bytes()));
        assert_eq!(vary.as_ref().map(Vary::as_bytes), expected.map(str::as_bytes), "{values:?}");
    }
}

#[test]
fn request_directives() {
    let rows: [(&[(&str, &str)], RequestDirectives); 6] = [
        (&[("Host", "no-store")], RequestDirectives::default()),
        (
            &[("cache-control", "NO-STORE, no-cache,only-if-cached")],
            RequestDirectives {
                no_store: true,
                no_cache: true,
                only_if_cached: true,
                ..RequestDirectives::default()
            },
        ),
        (
            &[("Cache-Control", "max-age=5"), ("Cache-Control", "min-fresh=\"7\"")],
            RequestDirectives {
                max_age: Some(5),
                min_fresh: Some(7),
                ..RequestDirectives::default()
            },
        ),
        (
            &[("Cache-Control", "max-age=x")],
            RequestDirectives { max_age: Some(0), ..RequestDirectives::default() },
        ),
        (
            &[("Pragma", "x, no-cache")],
            RequestDirectives { no_cache: true, ..RequestDirectives::default() },
        ),
        (&[("Pragma", "no-cache"), ("Cache-Control", "")], RequestDirectives::default()),
    ];
    for (fields, expected) in rows {
        let fields_read = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        assert_eq!(RequestDirectives::read(fields_read), expected, "{fields:?}");
    }
}

/// Fragments of lists of directives, in any order.
fn directives() -> impl Strategy<Value = String> {
    let fragments = [
        "no-store",
        "private",
        "max-age=7",
        "max-age",
        "=",
        "\"",
        ",",
        " ",
        ";",
        "x=\"a,b\"",
        "\t",
        "7",
        "NO-CACHE",
        "\\",
    ];
    let fragment = prop::sample::select(fragments.to_vec());
    prop::collection::vec(fragment, 0..12).prop_map(|parts| parts.concat())
}

fn read(value: &str) -> ResponseDirectives {
    let mut directives = ResponseDirectives::default();
    directives.add(value.as_bytes());
    directives
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_date_is_read_as_it_was_written(seconds in 0..253_402_300_800_i64) {
        let text = date::render(seconds);
        prop_assert_eq!(date::parse(text.as_bytes(), NOW), Some(seconds));
    }

    /// The second after a date is a second later, month's and year's ends included.
    #[test]
    fn dates_are_in_order(day in 0..2_932_896_i64) {
        let midnight = day * 86_400;
        let (before, after) = (date::render(midnight + 86_399), date::render(midnight + 86_400));
        prop_assert!(before.ends_with("23:59:59 GMT") && after.ends_with("00:00:00 GMT"));
        prop_assert_ne!(&before[..3], &after[..3]);
        let same_month = before[8..16] == after[8..16];
        prop_assert!(same_month || &after[5..7] == "01");
        if same_month {
            prop_assert_eq!(before[5..7].parse::<u8>().unwrap() + 1, after[5..7].parse().unwrap());
        }
    }

    #[test]
    fn any_bytes_are_a_date_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40), now in any::<i64>()) {
        let seconds = date::parse(&bytes, now);
        prop_assert!(seconds.is_none_or(|seconds| seconds.abs() < 1 << 40));
    }

    /// Nothing in front of or behind a directive takes it back, but quotes that open before it and close behind.
    #[test]
    fn what_forbids_is_not_taken_back(before in directives(), after in directives()) {
        let open = !read(&format!("{before},no-store\"")).no_store;
        prop_assert!(!open || before.contains("=\""));
        let all = format!("{before},no-store,{after}");
        prop_assert!(open || read(&all).no_store);
    }

    /// In two fields or in one.
    #[test]
    fn fields_add_up(first in directives(), second in directives()) {
        let [first, second] = [first, second].map(|list| list.replace('"', ""));
        let mut two = read(&first);
        two.add(second.as_bytes());
        prop_assert_eq!(two, read(&format!("{first},{second}")));
    }

    /// Values that are the same lists give the same, and values that differ otherwise do not.
    #[test]
    fn white_space_in_lists_means_nothing(parts in prop::collection::vec("[a-z]{1,3}(;q=[01])?", 1..5), other in "[a-z]{1,3}") {
        let vary = Vary::parse([&b"Accept, X"[..]]).unwrap();
        let values = |accept: &str, x: &str| {
            let mut out = vec![1];
            vary.write_values(format!("Accept: {accept}\r\nX: {x}\r\n").as_bytes(), &mut out);
            out
        };
        let (tight, wide) = (parts.join(","), parts.join(" ,\t").replace(';', " ; "));
        prop_assert_eq!(values(&tight, "1"), values(&wide, "1"));
        prop_assert_ne!(values(&tight, "1"), values(&tight, "2"));
        let longer = format!("{tight},{other}");
        prop_assert_ne!(values(&tight, "1"), values(&longer, "1"));
        prop_assert_eq!(values(&tight, &tight) == values(&tight, &wide), tight == wide);
    }
}
