"""What is watched of a stream, in bounded memory."""

import json

import pytest

from bayespa.serve.monitor import MOST, Monitor, interval


def test_wilsons_interval():
    """Against the roots of (p - share)² n = z² p (1 - p), which define it."""
    for right, n in [(0, 5), (3, 7), (50, 60), (10, 10)]:
        for end in interval(right, n):
            if 0.0 < end < 1.0:
                assert (end - right / n) ** 2 * n == pytest.approx(1.959963984540054**2 * end * (1 - end))
    assert interval(0, 0) == (0.0, 1.0)


def watched(n=1000):
    monitor = Monitor()
    for k in range(n):
        monitor.predicted(
            ["a" if k % 3 else "b"], lambda k=k: {"0": 10.0 + k, **({"1": 5.0} if k > n / 2 else {})}
        )
        if k % 2:
            monitor.judged({"a": 0.7, "b": 0.3}, "a", "a" if k % 10 else "b", given=True)
        if k % 10 == 0:
            monitor.judged({"a": 0.7, "b": 0.3}, "a", "b", given=False)
    return monitor


def test_points_are_few_and_miss_nothing():
    monitor = watched(10_000)
    points = monitor.summary()["points"]
    assert len(points) <= MOST
    assert sum(point["documents"] for point in points) == 10_000
    assert sum(sum(point["labels"].values()) for point in points) == 10_000
    assert sum(point["accuracy"]["n"] for point in points) == 6000
    assert [point["first"] for point in points] == sorted(point["first"] for point in points)


def test_topics_are_born_once():
    topics = watched().summary()["topics"]
    assert [topic["name"] for topic in topics] == ["0", "1"]
    assert topics[0]["born"] == 0
    assert 500 < topics[1]["born"] < 600


def test_given_and_reviewed_labels_are_told_apart_and_count_for_the_stream():
    summary = watched().summary()
    assert summary["accuracy"] == {"given": interval_of(500, 500)}
    (point,) = summary["calibration"]["bins"]
    assert (point["n"], point["accuracy"]["right"]) == (600, 500)
    assert summary["drift"]["judged"] == 600


def interval_of(right, n):
    low, high = interval(right, n)
    return {"n": n, "right": right, "value": right / n, "low": low, "high": high}


def test_an_alarm_stands_where_it_was_raised():
    monitor = Monitor(rate=1e-3)
    for k in range(400):
        monitor.predicted(["a"])
        monitor.judged({"a": 0.9, "b": 0.1}, "a", "a" if k < 300 else "b", given=True)
    (alarm,) = monitor.summary()["drift"]["alarms"]
    assert 300 < alarm < 340


def test_a_label_that_no_class_had_is_wrong():
    monitor = Monitor()
    monitor.judged({"a": 0.9, "b": 0.1}, "a", "c", given=True)
    assert monitor.summary()["accuracy"]["given"]["right"] == 0


def test_it_goes_on_from_its_state():
    monitor = watched(321)
    again = Monitor.from_state(json.loads(json.dumps(monitor.to_state())))
    assert again.to_state() == monitor.to_state()
    assert again.summary() == monitor.summary()


def test_of_several_classes_the_whole_set_is_judged():
    monitor = Monitor()
    monitor.predicted([("a", "b"), ()])
    monitor.judged({"a": 0.9, "b": 0.6, "c": 0.1}, ("a", "b"), ("b", "a"), given=True)
    monitor.judged({"a": 0.1, "b": 0.2, "c": 0.1}, (), ("c",), given=True)
    summary = monitor.summary()
    assert summary["points"][0]["labels"] == {"a": 1, "b": 1}
    assert summary["accuracy"]["given"]["right"] == 1
    confidences = [one["confidence"] for one in summary["calibration"]["bins"]]
    assert confidences == pytest.approx([0.9 * 0.6 * 0.9, 0.9 * 0.8 * 0.9])
