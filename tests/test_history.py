import itertools
import json

import numpy as np
import pytest

from bayespa.text.history import MOST, History


def learn(history, scores, topics=lambda i: {}):
    for i, score in enumerate(scores):
        if history.due:
            history.begin(topics(i))
        history.add(score, 10, 100)
    return history


@pytest.mark.parametrize("n", [0, 1, MOST, MOST + 1, 5 * MOST, 1000])
def test_points_are_means_of_as_many_mini_batches_as_it_takes(n):
    scores = np.random.default_rng(0).uniform(size=n)
    history = learn(History(), scores, lambda i: {"a": float(i)})
    stride = next(s for s in (1, 2, 4, 8, 16) if s * MOST >= n)
    groups = [scores[i : i + stride] for i in range(0, n, stride)]
    assert history.seen == 100 * n
    assert [point.seen for point in history.points] == list(range(0, 100 * n, 100 * stride))
    assert [point.topics["a"] for point in history.points] == list(range(0, n, stride))
    assert [point.n for point in history.points] == [10 * len(group) for group in groups]
    np.testing.assert_allclose([point.score for point in history.points], [g.mean() for g in groups])


def test_mini_batches_without_a_score_do_not_count():
    (first, second) = learn(History(), [None, 0.5]).points
    assert (first.n, second.n, second.score) == (0, 10, 0.5)
    history = learn(History(), itertools.chain([None, 0.5], itertools.repeat(None, MOST)))
    assert (history.points[0].n, history.points[0].score) == (10, 0.5)


@pytest.mark.parametrize("stop", [0, 1, 100, MOST, MOST + 1, 333])
def test_a_history_from_a_file_goes_on_with_the_same_bits(stop):
    scores = np.random.default_rng(1).uniform(size=500).tolist()
    whole = learn(History(), scores)
    stopped = json.loads(json.dumps(learn(History(), scores[:stop]).to_state()))
    assert json.dumps(learn(History.from_state(stopped), scores[stop:]).to_state()) == json.dumps(
        whole.to_state()
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"seen": -1},
        {"stride": 1.0},
        {"missing": 3},
        {"points": []},
        {"points": [[0, float("nan"), 1, {}]]},
        {"points": [[0, 0.5, True, {}]]},
        {"points": [[0, 0.5, 1, {"a": "b"}]]},
        {"points": [[0, 0.5, 1, {}]] * (MOST + 1)},
    ],
)
def test_states_that_are_wrong_are_refused(wrong):
    state = {"seen": 5, "stride": 2, "missing": 1, "points": [[0, 0.5, 1, {}]]}
    History.from_state(state)
    with pytest.raises(ValueError, match="the state of History"):
        History.from_state({**state, **wrong})
