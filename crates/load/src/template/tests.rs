use super::*;

const VARIABLES: [&str; 4] = ["text", "number", "list", "unset"];

fn fill(text: &str, place: TextPosition) -> String {
    let names = VARIABLES.map(str::to_owned);
    let names = Names { tables: &[], variables: &names };
    let template = Template::parse(text.as_bytes(), names, place).unwrap();
    let json = |json| Value::from_json(json);
    let variables = [json(r#""a \"b\"/ü\n&""#), json("7.50"), json(r#"[1,{"a":null}]"#), None];
    let mut random = fastrand::Rng::with_seed(1);
    let mut values =
        Values { sequence: 3, random: &mut random, variables: &variables, trace: None };
    let mut out = Vec::new();
    template.render(&mut values, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn variables_keep_their_types_in_json() {
    for (text, filled) in [
        (r#"{"a":"{{text}}"}"#, r#"{"a":"a \"b\"/ü\n&"}"#),
        (r#"{"a":"{{number}}","b":"{{list}}"}"#, r#"{"a":7.50,"b":[1,{"a":null}]}"#),
        (
            r#"["{{ number }}","n {{number}}","{{number}}{{number}}"]"#,
            r#"[7.50,"n 7.50","7.507.50"]"#,
        ),
        (r#""{{list}} and {{text}}""#, r#""[1,{"a":null}] and a \"b\"/ü\n&""#),
        // A quote of the text itself, and the name of a member.
        (r#"{"a":"\"{{number}}\""}"#, r#"{"a":"\"7.50\""}"#),
        (r#"{"{{number}}":1,"{{text}}" : 2}"#, r#"{"7.50":1,"a \"b\"/ü\n&" : 2}"#),
        (
            r#"{"seq":"{{seq}}","in":"x{{seq}}","r":"{{random:5-5}}"}"#,
            r#"{"seq":3,"in":"x3","r":5}"#,
        ),
    ] {
        let expected = match text.starts_with(r#""{{list}}"#) {
            // Inside of a longer text its JSON is escaped, too.
            true => r#""[1,{\"a\":null}] and a \"b\"/ü\n&""#,
            false => filled,
        };
        assert_eq!(fill(text, TextPosition::Json), expected, "{text}");
    }
}

#[test]
fn variables_are_encoded_where_they_stand() {
    assert_eq!(
        fill("/x/{{text}}?a={{number}}&raw={{raw:text}}", TextPosition::Target),
        "/x/a%20%22b%22%2F%C3%BC%0A%26?a=7.50&raw=a%20%22b%22/%C3%BC%0A&"
    );
    assert_eq!(
        fill("a={{text}}&b={{list}}", TextPosition::Urlencoded),
        "a=a+%22b%22%2F%C3%BC%0A%26&b=%5B1%2C%7B%22a%22%3Anull%7D%5D"
    );
    assert_eq!(fill("{{text}}|{{unset}}|", TextPosition::Body), "a \"b\"/ü\n&||");
}

#[test]
fn only_known_variables_are_placeholders() {
    let names = Names { tables: &[], variables: &["a".to_owned()] };
    for text in ["{{b}}", "{{raw:b}}"] {
        assert!(Template::parse(text.as_bytes(), names, TextPosition::Target).is_err(), "{text}");
    }
    assert!(Template::parse(b"{{raw:a}}", names, TextPosition::Body).is_err());
    let template = Template::parse(b"{{a}}{{a}}", names, TextPosition::Body).unwrap();
    assert_eq!(template.variables().collect::<Vec<_>>(), [0, 0]);
}
