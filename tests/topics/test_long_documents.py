"""Documents as long as they may be, counts that no integer holds, more tokens than 32 bits count."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bayespa import MedLDAClassifier
from bayespa.native import medhdp, medlda
from bayespa.native.medlda import Documents, Schedule, Tasks, Topics
from bayespa.topics import part
from bayespa.topics.documents import LONGEST, Corpus

HUGE = 2**62 + 5


def doubled(kind, values, dtype=np.int64):
    """A document of one word, and one that names its second word several times."""
    row, column = np.array([0] + [1] * len(values)), np.array([0] + [1] * len(values))
    data = np.array([1, *values], dtype)
    if kind == "coo":
        return sparse.coo_matrix((data, (row, column)), (2, 3))
    if kind == "bsr":
        data = data[:, None, None]
    container = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "bsr": sparse.bsr_matrix}[kind]
    ends = [0, 1, 1 + len(values)] if kind != "csc" else [0, 1, 1 + len(values), 1 + len(values)]
    return container((data, column if kind != "csc" else row, np.array(ends)), shape=(2, 3))


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, 0], [2**62, 0]]),
        np.array([[1, 0, 0, 0], [HUGE] * 4]),
        sparse.csr_matrix(np.array([[1, 0, 0, 0], [HUGE] * 4])),
        np.array([[1, 0], [2**64 - 1, 0]], np.uint64),
        np.array([[1.0, 0.0], [1e300, 0.0]]),
        np.array([[1, 0], [LONGEST, 1]], np.float32),
        np.array([[1, 0], [2**31 - 1, 2**31 - 1]], np.int32),
        *(doubled(kind, [HUGE] * 4) for kind in ("csr", "csc", "bsr", "coo")),
        *(doubled(kind, [2**31 - 1] * 2, np.int32) for kind in ("csr", "csc", "bsr", "coo")),
        np.array([[1, 0], [LONGEST, 1]]),
    ],
)
def test_too_many_tokens_are_refused_however_they_are_counted(X):
    with pytest.raises(ValueError, match=r"^document 1 of X has \d+ tokens, more than 16777216; divide"):
        Corpus.of(X, name="test")


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.float32, float])
def test_a_word_that_is_named_twice_counts_twice(kind, dtype):
    X = doubled(kind, [100, 100], dtype)
    before = X.copy()
    assert_array_equal(Corpus.of(X, name="test").counts.to_scipy().toarray(), [[1, 0, 0], [0, 200, 0]])
    assert_array_equal(X.data, before.data)


def one_document(*counts, n_docs=1):
    return Documents.from_csr(sparse.csr_matrix([counts] * n_docs))


def lda(documents, n_tasks=0):
    """Two topics and no task; the cost of one that is not there makes the step refuse what it is given."""
    phi = np.full((len(documents.vocabulary), 8), [1, 1] + [0] * 6, np.float32)
    topics = Topics(phi, np.ones(2, np.float32))
    return documents, topics, replace(Tasks.none(len(documents.ids), 2), cost=np.ones(n_tasks))


def hdp(documents, n_tasks=0):
    """The same with one topic, and another that stands for new ones."""
    ones = np.ones(1)
    dirichlet = np.ones((len(documents.vocabulary), 1), np.float32)
    topics = medhdp.HdpTopics(dirichlet, ones, ones, 1e-300 * ones, np.ones(0), 1.0, 1.0, 1.0, 1.0, 9)
    return documents, topics, replace(Tasks.none(len(documents.ids), 2), cost=np.ones(n_tasks))


def test_a_document_may_have_two_to_the_24_tokens():
    corpus = Corpus.of([[LONGEST - 3, 3]], name="test")
    assert corpus.weights == [1.0]
    result = medlda.step(*lda(corpus.batch(np.arange(1)).documents), Schedule(1, 0, 0, 0))
    assert_array_equal(result.topic_word.sum(axis=1), [LONGEST - 3, 3])
    assert_array_equal(result.free.topic_share[0] * LONGEST, result.topic_word.sum(axis=0))


def test_kept_sweeps_add_up_beyond_what_a_float_counts_by_ones():
    """A topic that has all tokens has a share of 1."""
    n = LONGEST // 4 + 1
    result = medhdp.step(*hdp(one_document(n)), Schedule(0, 0, 4, 0), start=np.zeros(n, np.uint32))
    assert_array_equal(result.topic_word, [[4 * n]])
    assert_array_equal(result.labelled.topic_share, [[1.0]])


def test_native_steps_refuse_longer_documents():
    for step, case, n in ((medlda.step, lda, LONGEST + 1), (medhdp.step, hdp, LONGEST + 2**16 + 1)):
        with pytest.raises(ValueError, match=r"at most 2\^24"):
            step(*case(one_document(n)), Schedule())


REFUSED_LATER = "mean must be"  # the step looks at the cost after the tokens


@pytest.mark.parametrize(
    ("step", "case", "documents", "schedule"),
    [
        (medhdp.step, hdp, one_document(3000, 3000, n_docs=4096), Schedule(100, 99, 0, 0)),  # initialises
        (medhdp.step, hdp, one_document(2**19 - 1, n_docs=4096), Schedule(100, 99, 0, 0)),
        (medhdp.step, hdp, one_document(LONGEST, 10), Schedule(100, 99, 0, 0)),  # with the tokens of a label
        (medlda.step, lda, one_document(13_000, n_docs=4096), Schedule(50, 12, 0, 0)),  # a prediction
        (medlda.step, lda, one_document(13_000, 13_000, n_docs=4096), Schedule(50, 12, 0, 0)),
        (medlda.step, lda, one_document(LONGEST, n_docs=63), Schedule(2, 1, 2, 0)),  # a mini-batch
        (medlda.step, lda, one_document(LONGEST), Schedule(127, 0, 0, 0)),
    ],
)
def test_only_what_overflows_is_refused(step, case, documents, schedule):
    with pytest.raises(ValueError, match=REFUSED_LATER):
        step(*case(documents, n_tasks=1), schedule)


@pytest.mark.parametrize(
    ("step", "case", "documents", "schedule"),
    [
        (medhdp.step, hdp, one_document(1, 2**19, n_docs=4096), Schedule(100, 99, 0, 0)),
        (medlda.step, lda, one_document(1, 14_000, n_docs=4096), Schedule(50, 12, 0, 0)),
        (medlda.step, lda, one_document(1, LONGEST - 1, n_docs=65), Schedule(2, 1, 2, 0)),
        (medlda.step, lda, one_document(1, LONGEST - 1), Schedule(129, 0, 0, 0)),
    ],
)
def test_what_overflows_is_refused(step, case, documents, schedule):
    n_kept = schedule.sweeps - schedule.burn_in or schedule.free_sweeps - schedule.free_burn_in
    match = (
        f"the word in column 1 has {documents.counts[1::2].sum()} tokens in one mini-batch, and "
        f"{(2**31 - 1) // n_kept} are the most that {n_kept} kept sweeps can count; divide the counts"
    )
    with pytest.raises(ValueError, match=match):
        step(*case(documents, n_tasks=1), schedule)


def test_one_topic_may_have_all_tokens_of_a_batch():
    documents = one_document(2**18, 2**18, n_docs=4096)
    with pytest.raises(ValueError, match=r"fewer than 2\^31 tokens; divide the counts"):
        medhdp.step(*hdp(documents), Schedule(100, 99, 0, 0))


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (40, 9)), np.arange(40) % 2
    X[3], X[5] = 0, 30
    X = X * np.where(np.arange(40) % 3, 1.0, 0.7)[:, None]  # tokens of several weights
    return MedLDAClassifier(n_topics=3, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("most", [1, 1000, 5000])
def test_a_batch_that_is_too_large_is_sampled_in_pieces(monkeypatch, fitted, most):
    model, X, y = fitted
    whole = model.predict_proba(X)
    monkeypatch.setattr(part, "MOST", most)
    assert_array_equal(model.predict_proba(X), whole)
    again = MedLDAClassifier(n_topics=3, random_state=0).fit(X, y)
    assert_allclose(again.topic_word_.sum(axis=0), model.topic_word_.sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("most", [1, 60, 10**4])
def test_pieces_are_samples_of_the_same_documents(monkeypatch, most):
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, (20, 6))
    X[[0, 7, 19]] = 0
    labels = rng.choice([-1.0, 1.0], (20, 1)).astype(np.float32)
    batch = Corpus.of(X, name="test").batch(np.arange(20), labels)
    n_words = len(batch.documents.vocabulary)
    phi = np.zeros((n_words, 8), np.float32)
    phi[:, :3] = rng.uniform(0.1, 1.0, (n_words, 3))
    topics = Topics(phi, np.full(3, 0.5, np.float32))
    tasks = Tasks(rng.normal(size=(1, 3)), 0.1 * np.eye(3)[None], labels, np.ones(1), 1.0)
    schedule = Schedule(2, 1, 3, 1, seed=5)
    whole = part.sample(batch, topics, tasks, schedule)
    monkeypatch.setattr(part, "MOST", most)
    cut = part.sample(batch, topics, tasks, schedule, n_threads=2)
    assert (len(cut.counts) > 1) == (most < 10**4)
    assert_array_equal(sum(counts for _, counts, _ in cut.counts), whole.counts[0][1])
    for phase in ("free", "labelled"):
        for field in fields(whole.free):
            a, b = (getattr(getattr(sampled, phase), field.name) for sampled in (cut, whole))
            if field.name in ("topic_share", "margin", "margin_var", "n_kept"):
                assert_array_equal(a, b)
            elif field.name != "topic_word":
                assert_allclose(a, b, rtol=1e-12)
