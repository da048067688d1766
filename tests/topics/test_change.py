"""Forgetting that finds itself: a class that changes is noticed and forgotten, and nothing else is."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayespa import MedHDPClassifier, MedLDAClassifier, TextModel
from bayespa.datasets import make_topic_corpus
from bayespa.learning import Before, Step
from bayespa.posteriors import Joint, Tally
from bayespa.topics.change import AT_ONCE, BEST, ENOUGH, FEWEST, GRID, MET, SURE, SUSPECT, USUAL, Change
from bayespa.topics.words import KEPT

FEW = {"first_documents": 256, "first_sweeps": 20, "prediction_sweeps": 8}
RNG = np.random.default_rng(0)


def twin(change, posterior, margin, labels, index):
    """What `propose` counts, a document at a time, from the definition of [MED-14]."""
    before, (n_documents, n_tasks) = posterior["change"].counts, margin.shape
    added = np.zeros((7, n_tasks))
    documents, mistakes = np.zeros((2, n_tasks)), np.zeros((2, n_tasks))
    for d in range(n_documents):
        for t in range(n_tasks):
            side = {1.0: 0, -1.0: 1}.get(labels[d, t])
            if side is None or (change.kind == "exclusive" and side == 1):
                continue
            if change.kind == "exclusive":
                added[3] += 1  # for all tasks
                rivals = [other for other in range(n_tasks) if before[3, other] >= MET]
                if t not in rivals:
                    continue
                better = sum(margin[d, other] > margin[d, t] for other in rivals)
                mistake = better >= max(1, n_tasks // BEST)
            else:
                mistake = (margin[d, t] > 0.0) == (side == 1)
            documents[side, t] += 1
            mistakes[side, t] += mistake
    for side in range(1 if change.kind == "exclusive" else 2):
        for t in range(n_tasks):
            seen, missed, ratio = before[3 * side : 3 * side + 3, t]
            n, w = documents[side, t], mistakes[side, t]
            added[3 * side : 3 * side + 2, t] = (index + 1) * n, (index + 1) * w
            if change.kind == "exclusive":
                all_seen, all_now = before[0].sum(), documents[0].sum()
            else:
                all_seen, all_now = before[0, t] + before[3, t], documents[:, t].sum()
            if n * all_seen > USUAL * seen * all_now or seen < ENOUGH * (index + 1):
                continue
            old = min(max(missed / seen, FEWEST), 1.0 - GRID)
            new = (old + 1.0) / 2.0
            more = w * np.log(new / old) + (n - w) * np.log((1.0 - new) / (1.0 - old))
            more = round(min(more, AT_ONCE) / GRID) * GRID
            added[3 * side + 2, t] = max(ratio + more, GRID) - ratio
    return added


@pytest.mark.parametrize(
    ("kind", "n_tasks"), [("exclusive", 3), ("exclusive", 17), ("binary", 1), ("labels", 5)]
)
def test_it_counts_what_a_loop_over_documents_counts(kind, n_tasks):
    change = Change(kind, n_tasks)
    posterior = Joint(**change.prior())
    for index in range(30):
        margin = RNG.normal(size=(64, n_tasks))
        labels = np.where(RNG.random((64, n_tasks)) < 0.3, 1.0, -1.0).astype(np.float32)
        if kind == "exclusive":
            labels = np.where(RNG.integers(n_tasks, size=64)[:, None] == np.arange(n_tasks), 1.0, -1.0)
            labels = labels.astype(np.float32)
        margin += 0.05 * index * labels * (1.0 if index < 25 else -1.0)
        labels[RNG.random(64) < 0.1] = np.nan
        found = change.propose(posterior, margin, labels, index)
        assert_array_equal(found["change"].counts, twin(change, posterior, margin, labels, index))
        posterior += Joint(**found)
    assert change.found(posterior).any()


def test_suspects_have_changed_if_together_they_are_sure():
    change, counts = Change("exclusive", 4), np.ones((7, 4))
    both = np.log1p(np.expm1([SUSPECT - 0.1, SUSPECT]) / 4.0).sum()
    counts[2], counts[5] = (SUSPECT - 0.1, SUSPECT, SURE - both + np.log(4.0) - 0.1, GRID), 0.0
    assert not change.found(Joint(change=Tally(counts))).any()
    counts[2, 2] += 0.2
    posterior = Joint(change=Tally(counts))
    assert_array_equal(change.found(posterior), [False, True, True, False])
    after = Joint(**change.begun(posterior, change.found(posterior)))
    assert_array_equal(change.times(after), [0, 1, 1, 0])
    assert_array_equal(after["change"].counts[:6, 1], change.prior()["change"].counts[:6, 0])
    assert_array_equal(after["change"].counts[:6, 0], counts[:6, 0])
    anew = Joint(**change.begun(posterior, change.found(posterior), all_anew=True))
    assert_array_equal(anew["change"].counts[:6], change.prior()["change"].counts[:6])
    assert_array_equal(change.times(anew), [0, 1, 1, 0])


def test_a_repeated_mini_batch_keeps_what_it_said_first():
    change = Change("binary")
    first = Joint(**change.propose(Joint(**change.prior()), np.ones((4, 1)), np.ones((4, 1), np.float32), 3))
    wrong = -np.ones((4, 1)), np.ones((4, 1), np.float32)
    again = change.propose(Joint(**change.prior()), *wrong, 9, Before(Step(first, 0.0, 4)))
    assert again["change"] == first["change"]


def test_new_classes_begin_anew_and_the_second_of_two_is_the_mirror_of_the_first():
    change = Change("binary")
    posterior = Joint(change=Tally(np.arange(1.0, 8.0)[:, None]))
    grown = change.grown(posterior, np.array([0, 0, -1]), np.array([-1.0, 1.0, 1.0]))["change"].counts
    assert_array_equal(grown[:, 0], [4, 5, 6, 1, 2, 3, 7])
    assert_array_equal(grown[:, 1], np.arange(1.0, 8.0))
    assert_array_equal(grown[:, 2], change.prior()["change"].counts[:, 0])
    assert change.grown(posterior, np.array([0]), np.ones(1)) == {}


def stream(n_labels, n=6000, seed=0):
    return make_topic_corpus(n, n_words=400, n_topics=8, n_labels=n_labels, random_state=seed)


def swapped(y, n_labels, half):
    """The classes change places in the second half."""
    return np.where(np.arange(len(y)) < half, y, (y + 1) % n_labels)


def learned(X, y, **options):
    model = MedLDAClassifier(8, expert=FEW, random_state=0, **options)
    classes, right = np.unique(y), []
    for start in range(0, len(y), 250):
        rows = slice(start, start + 250)
        if start:
            right.append(model.score(X[rows], y[rows]))
        model.partial_fit(X[rows], y[rows], classes=classes)
    return model, right


@pytest.mark.parametrize("decides", ["topics", "topics+words", "words"])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_classes_that_change_places_are_found_and_learned_anew(decides, n_labels):
    found = stream(n_labels)
    y = swapped(found.target, n_labels, 3000)
    model, right = learned(found.data, y, decides=decides)
    stubborn, before = learned(found.data, y, decides=decides, discount=1.0)
    assert not stubborn.n_changes_.any()
    assert np.mean(right[13:]) >= np.mean(before[13:])
    if decides == "topics":  # words learn two classes anew by themselves, within a mini-batch
        assert model.n_changes_.all()
        assert np.mean(right[-6:]) > np.mean(before[-6:]) + 0.1


@pytest.mark.parametrize("decides", ["topics", "topics+words"])
def test_a_stream_without_change_teaches_the_same_with_and_without(decides):
    found = stream(4)
    model, _ = learned(found.data, found.target, decides=decides)
    without, _ = learned(found.data, found.target, decides=decides, discount=1.0)
    assert not model.n_changes_.any()
    assert set(model.posterior_) == set(without.posterior_)
    others = set(model.posterior_) - {"change"}
    assert all(model.posterior_[name] == without.posterior_[name] for name in others)


def test_runs_of_one_label_are_no_change():
    found = stream(4)
    order = np.concatenate([np.arange(1000), 1000 + np.argsort(found.target[1000:], kind="stable")])
    model, _ = learned(found.data[order], found.target[order])
    assert not model.n_changes_.any()


def test_words_forget_the_classes_that_have_changed_and_no_others():
    found = stream(4)
    model, _ = learned(found.data[:3000], found.target[:3000], decides="words")
    state, own = model._learned.model, model.posterior_
    counts = np.array(own["change"].counts)
    counts[2, 1] = SURE + 2.0  # log 4 is 1.4
    after = state.adapted(Joint(own, change=Tally(counts)))
    weights, prior = own["words"], state.words.prior(4, 400)["words"]
    for name in ("shift", "precision"):
        now, was, begin = (getattr(part, name) for part in (after["words"], weights, prior))
        assert_array_equal(now[[0, 2, 3]], was[[0, 2, 3]])
        assert np.abs(now[1] - begin[1] - KEPT * (was[1] - begin[1])).max() <= 2.0**-16
    assert_array_equal(state.change.times(after), [0, 1, 0, 0])
    assert set(after) == set(own)
    assert all(after[name] == own[name] for name in own if name not in ("words", "change"))


def test_several_labels_and_medhdp_forget_too():
    found = stream(3, seed=1)
    shown = np.stack([swapped(found.target, 3, 3000) == c for c in range(3)], axis=1).astype(int)
    model = MedHDPClassifier(expert={"first_documents": 256}, random_state=0, decides="topics")
    for start in range(0, 6000, 500):
        model.partial_fit(found.data[start : start + 500], shown[start : start + 500])
    assert model.n_changes_.any()
    assert model.score(found.data[5000:], shown[5000:]) > 0.7


def test_a_fixed_corpus_in_several_passes_forgets_nothing():
    found = stream(2, n=3000)
    y = swapped(found.target, 2, 1500)
    model = MedLDAClassifier(8, expert=FEW, random_state=0, n_passes=2).fit(found.data, y)
    assert not model.n_changes_.any()


def test_a_model_of_texts_names_the_classes():
    found = stream(4, n=4000)
    names = np.array([f"w{word}x" for word in range(400)])
    texts = [" ".join(np.repeat(names[row.indices], row.data.astype(int))) for row in found.data]
    labels = [("sea", "tea", "ice", "air")[c] for c in swapped(found.target, 4, 2048)]
    model = TextModel("linear", random_state=0, n_passes=1)
    assert model.changes == {}
    for start in range(0, 4000, 500):
        model.learn(texts[start : start + 500], labels[start : start + 500])
    assert set(model.changes) == set(labels)


def require_no_change(rng, n_classes, size, n_batches, margins):
    """Count mini-batches of steady classes, whose margins are a function of labels."""
    change = Change("exclusive", n_classes)
    posterior = Joint(**change.prior())
    for index in range(n_batches):
        right = rng.integers(n_classes, size=size)
        labels = np.where(right[:, None] == np.arange(n_classes), 1.0, -1.0).astype(np.float32)
        posterior += Joint(**change.propose(posterior, margins(labels), labels, index))
        assert not change.found(posterior).any()


def mistaken(rng, labels, share):
    """Return margins of which a share has the right class as the last."""
    return labels * np.where(rng.random(len(labels)) < share, -1.0, 1.0)[:, None]


def test_many_classes_of_few_documents_do_not_change_by_chance():
    require_no_change(RNG, 80, 256, 120, lambda labels: mistaken(RNG, labels, 0.05))


@pytest.mark.parametrize("size", [16, 256])
def test_classes_that_compete_one_after_the_other_are_no_change(size):
    """Classes become frequent enough to be judged one after the other, but compete together before that.

    Three of ten documents are mistakes.
    """
    rng = np.random.default_rng(0)
    require_no_change(
        rng, 20, size, 12_000 // size, lambda labels: rng.normal(size=labels.shape) + 1.7 * labels
    )


@pytest.mark.parametrize("share", [0.125, 0.5])
def test_a_hundred_steady_classes_are_not_sure_together(share):
    """Some of them look suspicious at any time."""
    rng = np.random.default_rng(0)
    require_no_change(rng, 100, 256, 400, lambda labels: mistaken(rng, labels, share))
