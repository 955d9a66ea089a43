use serde_json::{Value, json};

use super::*;

/// Everything found, whatever the pieces in which the bytes come.
fn cut(text: &str, size: usize) -> Result<Vec<Piece>, Garbled> {
    let mut cutter = Cutter::default();
    let mut pieces = Vec::new();
    for chunk in text.as_bytes().chunks(size) {
        cutter.push(chunk, &mut |piece| pieces.push(piece))?;
    }
    Ok(pieces)
}

fn shown(pieces: &[Piece]) -> Vec<(&'static str, Value)> {
    let value = |json: &[u8]| serde_json::from_slice(json).unwrap();
    let shown = |piece: &Piece| match piece {
        Piece::Object(cut) => ("object", value(&cut.json)),
        Piece::Around(json) => ("around", value(json)),
    };
    pieces.iter().map(shown).collect()
}

#[test]
fn a_list_falls_into_its_items_and_the_rest() {
    let items = [
        json!({"metadata": {"name": "a\"}],{", "labels": {"items": "[{"}}, "items": [{"x": 1}]}),
        json!({}),
        json!({"object": {"items": [1, {}]}, "é\\": "\\\""}),
    ];
    let list = json!({"kind": "PodList", "metadata": {"continue": "items"}, "items": items, "x": [{}]});
    let text = serde_json::to_string_pretty(&list).unwrap();

    for size in [1, 2, 3, 7, 1000] {
        let pieces = cut(&text, size).unwrap();

        let mut expected: Vec<(&str, Value)> = items.iter().map(|item| ("object", item.clone())).collect();
        let around = json!({"kind": "PodList", "metadata": {"continue": "items"}, "items": [], "x": [{}]});
        expected.push(("around", around));
        assert_eq!(shown(&pieces), expected, "in pieces of {size}");
    }
}

#[test]
fn events_fall_into_their_objects_and_their_types() {
    let (added, gone) = (json!({"metadata": {"name": "a"}}), json!({"metadata": {"name": "b"}}));
    let text = format!(
        "{{\"type\":\"ADDED\",\"object\":{added}}}\n{{\"object\": {gone}, \"type\": \"DELETED\"}}\n{{\"type\""
    );

    for size in [1, 5, 1000] {
        let pieces = cut(&text, size).unwrap();

        let expected = [
            ("object", added.clone()),
            ("around", json!({"type": "ADDED", "object": null})),
            ("object", gone.clone()),
            ("around", json!({"type": "DELETED", "object": null})),
        ];
        assert_eq!(shown(&pieces), expected, "in pieces of {size}");
    }
}

#[test]
fn an_object_nested_without_end_is_cut_out_and_measured() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let list = format!("{{\"items\":[{deep},{{\"b\":[1,2,{{}}]}}]}}");

    let pieces = cut(&list, 4096).unwrap();

    let [Piece::Object(first), Piece::Object(second), Piece::Around(_)] = &*pieces else {
        panic!("{pieces:?}");
    };
    assert_eq!((first.depth, first.maps, first.json.len()), (100_001, 1, deep.len()));
    assert_eq!((second.depth, second.maps, second.values), (3, 2, 2));
}

#[test]
fn what_no_api_server_sends_is_told_apart() {
    assert_eq!(cut("<html>upstream error</html>", 100), Err(Garbled));
    assert_eq!(cut("{\"items\":[]}]", 100), Err(Garbled));
    assert!(cut(&format!("{{\"x\":\"{}", "y".repeat(MOST_AROUND)), 4096).is_err());
    assert_eq!(cut(" \n", 100), Ok(Vec::new()));
}
