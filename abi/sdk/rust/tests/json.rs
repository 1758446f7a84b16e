//! Reading configurations.

use berth::json::Value;
use berth::Error;

fn parse(text: &str) -> Result<Value<'_>, Error> {
    Value::parse(text.as_bytes())
}

#[test]
fn texts_that_are_json() {
    for text in [
        "{}",
        " [ ] ",
        "\"\"",
        "0",
        "-0",
        "1.5e-3",
        "10E+2",
        "true",
        "false",
        "null",
        r#"{"a": [1, {"b": "c\u00e9\/"}], "": null}"#,
        "\n[\t1\r,\n2 ]\n",
        "\"é😀\"",
    ] {
        assert!(parse(text).is_ok(), "{}: {:?}", text, parse(text).err());
    }
}

#[test]
fn texts_that_are_not() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{\"a\": 1,}",
        "{a: 1}",
        "{1: 1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "tru",
        "nul",
        "truefalse",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\n\"",
        "{} {}",
        "[1 2]",
        "'a'",
        "NaN",
    ] {
        let error = parse(text)
            .err()
            .unwrap_or_else(|| panic!("{} was taken", text));
        assert_eq!(error.text(), "line 1: this is not JSON", "{}", text);
    }
    let (deep, not_so) = (
        "[".repeat(100) + &"]".repeat(100),
        "[".repeat(30) + &"]".repeat(30),
    );
    assert!(parse(&deep).is_err() && parse(&not_so).is_ok());
    assert_eq!(
        parse("{\n\n\"a\": x}").unwrap_err().text(),
        "line 3: this is not JSON"
    );
    assert!(Value::parse(b"\"\xff\"").is_err());
}

#[test]
fn values() {
    let text = r#"{"n": -12, "big": 9223372036854775807, "x": 0.25, "t": true, "f": false, "s": "a\"\u00e9\ud83d\ude00\ud83dé\n",
        "none": null, "l": [1, 2, 3], "twice": 1, "twice": 2, "k\u0065y": 5}"#;
    let v = parse(text).unwrap();
    let get = |key| v.get(key).unwrap();
    assert_eq!(get("n").unwrap().i64().unwrap(), -12);
    assert_eq!(get("big").unwrap().i64().unwrap(), i64::MAX);
    assert_eq!(get("x").unwrap().f64().unwrap(), 0.25);
    assert!(get("t").unwrap().bool().unwrap() && !get("f").unwrap().bool().unwrap());
    assert_eq!(get("s").unwrap().string().unwrap(), "a\"é😀\u{fffd}é\n");
    assert!(get("s").unwrap().is("a\"é😀\u{fffd}é\n") && !get("s").unwrap().is("a"));
    assert!(get("none").is_none() && get("absent").is_none());
    assert_eq!(
        get("twice").unwrap().i64().unwrap(),
        2,
        "the last, as encoding/json has it"
    );
    assert_eq!(get("key").unwrap().i64().unwrap(), 5);
    let sum: i64 = v.list("l").unwrap().map(|n| n.i64().unwrap()).sum();
    assert_eq!(
        (
            sum,
            v.list("none").unwrap().count(),
            v.list("absent").unwrap().count()
        ),
        (6, 0, 0)
    );
    assert_eq!(v.fields().unwrap().count(), 11);
    assert_eq!(get("n").unwrap().chars().count(), 0);
    assert_eq!(parse("\"b\"").unwrap().one_of(&["a", "b"]).unwrap(), 1);
    assert_eq!(parse("[]").unwrap().elements().unwrap().count(), 0);
}

/// Errors say where and what.
#[test]
fn errors() {
    let text = r#"{"a": {"b.c": [1, "x", {"d": null}]}, "n": 1.5, "huge": 9223372036854775808}"#;
    let v = parse(text).unwrap();
    let list = || v.need("a").unwrap().need("b.c").unwrap();
    let at = |i| list().elements().unwrap().nth(i).unwrap();
    for (got, want) in [
        (
            at(1).i64().err(),
            "a.b.c[1]: expected a number, found a string",
        ),
        (
            at(0).bool().err(),
            "a.b.c[0]: expected true or false, found a number",
        ),
        (
            at(2).string().err(),
            "a.b.c[2]: expected a string, found an object",
        ),
        (at(2).need("d").err(), "a.b.c[2]: the field d is missing"),
        (
            list().get("x").err(),
            "a.b.c: expected an object, found a list",
        ),
        (v.need("a").unwrap().list("b").err(), ""),
        (
            v.need("a").unwrap().elements().err(),
            "a: expected a list, found an object",
        ),
        (
            v.need("n").unwrap().i64().err(),
            "n: 1.5 is not a whole number of 64 bits",
        ),
        (
            v.need("huge").unwrap().i64().err(),
            "huge: 9223372036854775808 is not a whole number of 64 bits",
        ),
        (
            v.need("x").err(),
            "the configuration: the field x is missing",
        ),
        (
            v.only(&["a", "n"]).err(),
            "huge: there is no such field; there are a, n",
        ),
        (
            v.bool().err(),
            "the configuration: expected true or false, found an object",
        ),
        (
            at(1).one_of(&["y", "z"]).err(),
            "a.b.c[1]: expected one of y, z",
        ),
        (Some(at(2).error("no")), "a.b.c[2]: no"),
    ] {
        assert_eq!(got.as_ref().map_or("", Error::text), want);
    }
}
