import json

import pytest
from numpy.testing import assert_array_equal

from bayespa.corpus import ClassNames, read


@pytest.mark.parametrize(
    ("value", "options", "label"),
    [
        ("a;b", {}, "a;b"),
        ("a; b;;a", {"separator": ";"}, ("a", "b")),
        ("a", {"separator": ";"}, ("a",)),
        ("a", {"separator": ";", "target": "class"}, "a"),
        ("a", {"target": "classes"}, ("a",)),
        (["b", "a", "b"], {}, ("b", "a")),
        (["a"], {"target": "class"}, "a"),
        ([], {}, ()),
        ([], {"target": "class"}, None),
        (3, {}, "3"),
        (3.0, {}, 3.0),
        (3.0, {"target": "class"}, "3"),
        (True, {}, "true"),
        ([1, 2.5], {}, ("1", "2.5")),
        (-2, {"target": "number"}, -2.0),
        (" 1e3 ", {"target": "number"}, 1000.0),
        *(
            (missing, {"target": target}, None)
            for missing in (None, "", float("nan"))
            for target in (None, "class", "classes", "number")
        ),
    ],
)
def test_label(tmp_path, value, options, label):
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"text": "x", "label": value}))
    (document,) = read(path, strict=True, **options)
    assert document.label == label
    assert type(document.label) is type(label)


def test_labels_in_csv(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("text,label\nx,a;b\nx,\nx,3\n")
    assert [d.label for d in read(path, separator=";")] == [("a", "b"), None, ("3",)]
    path.write_text("text,label\nx,1.5\nx,\nx,3\n")
    assert [d.label for d in read(path, target="number")] == [1.5, None, 3.0]


def test_classes_grow_in_order_of_appearance():
    classes = ClassNames(["z"])
    for labels in (["b", None, ("a", "b")], [(), "z", "c"]):
        classes.learn(labels)
    assert (classes.names, len(classes)) == (["z", "b", "a", "c"], 4)
    assert_array_equal(classes.codes(["c", ("z",), "b"]), [3, 0, 1])
    assert_array_equal(classes.indicator([("a", "z"), ()]), [[1, 0, 1, 0], [0, 0, 0, 0]])
    assert ClassNames.from_state(json.loads(json.dumps(classes.to_state()))).names == classes.names
    assert classes.codes([]).shape == (0,)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], r"labels\[1\] is missing; take batch.labelled\(\) first"),
        (["a", "q"], r"labels\[1\] is 'q', a class not learned"),
        (["a", ("a", "b")], r"labels\[1\] is \('a', 'b'\), 2 classes; use indicator"),
        (["a", (), "b"], r"labels\[1\] is \(\), 0 classes"),
        ([1.5], r"labels\[0\] is the number 1.5, not a class; read with target='class'"),
    ],
)
def test_labels_that_have_no_code(labels, message):
    with pytest.raises(ValueError, match=message):
        ClassNames(["a", "b"]).codes(labels)


@pytest.mark.parametrize("names", ["ab", [1], ["a", "a"], None])
def test_damaged_state(names):
    with pytest.raises(ValueError, match="the state of ClassNames"):
        ClassNames.from_state({"names": names})
