"""The BayesPA round on models whose results are known."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayespa.learning import Before, Result, Round, State, Step, apply, learn, rounds
from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint


@dataclass
class WordCounts:
    """The statistics are the batch itself, whatever the posterior; the objective is given."""

    objectives: list = field(default_factory=list)
    indices: list = field(default_factory=list)

    def propose(self, posterior, batch, index, before=None):
        self.indices.append(index)
        objective = self.objectives[index] if self.objectives else 1.0
        return Step(Dirichlet([batch]), objective, n_examples=int(sum(batch)))


class Halves:
    """Statistics that depend on the posterior: half of what it holds. Replays show what was subtracted."""

    def propose(self, posterior, batch, index, before=None):
        posterior = posterior if before is None else before.out_of(posterior)
        return Step(Dirichlet(0.5 * posterior.concentration), 0.0, 1)


class MeanOfNormal:
    """A conjugate model: observations of known precision; the objective is minus the log evidence."""

    def propose(self, posterior, batch, index, before=None):
        mean, precision = posterior.mean()[0, 0], posterior.precision[0]
        objective = 0.0
        for y in batch:
            variance = 1.0 / precision + 1.0
            objective += 0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance)
            mean, precision = (mean * precision + y) / (precision + 1.0), precision + 1.0
        return Step(Gaussian([[np.sum(batch)]], [float(len(batch))]), objective, len(batch))


PRIOR = Dirichlet.prior(1, 2, eta=1.0)
BATCHES = [[1, 0], [4, 2], [0, 3]]


def test_a_pass_adds_up():
    states = list(rounds(WordCounts(), State(PRIOR), BATCHES))
    assert [s.n_examples for s in states] == [1, 7, 10]
    assert [(s.pass_index, s.batch_index, s.n_batches) for s in states] == [(0, 0, 3), (0, 1, 3), (0, 2, 3)]
    assert states[-1].state.posterior == Dirichlet([[6.0, 6.0]])
    assert [(s.state.version, s.state.n_steps, s.state.n_examples) for s in states] == [
        (1, 1, 1),
        (2, 2, 7),
        (3, 3, 10),
    ]
    assert [s.step.statistics for s in states] == [Dirichlet([batch]) for batch in BATCHES]


def test_every_state_stays_as_it_was():
    start = State(PRIOR)
    states = [start, *(now.state for now in rounds(WordCounts(), start, BATCHES))]
    totals = [[1.0, 1.0], [2.0, 1.0], [6.0, 3.0], [6.0, 6.0]]
    assert [state.posterior.concentration[0].tolist() for state in states] == totals


def test_apply_adds_replaces_and_counts_examples_once():
    first, second = (Step(Dirichlet([counts]), 0.0, n_examples=3, n_steps=2) for counts in ([1, 2], [4, 0]))
    learned = apply(State(PRIOR), first)
    again = apply(learned, second, Before(first), again=True)
    assert again == State(Dirichlet([[5.0, 1.0]]), version=2, n_steps=4, n_examples=3)
    assert learned == State(Dirichlet([[2.0, 3.0]]), version=1, n_steps=2, n_examples=3)
    assert Before(first).out_of(learned.posterior) == PRIOR
    assert Before(first, kept=True).out_of(learned.posterior) is learned.posterior


def test_a_conjugate_model_is_exact_in_any_batches():
    y = np.random.default_rng(0).standard_normal(20)
    prior = Gaussian.prior(1, 1, scale=2.0, structure="isotropic")
    exact = Gaussian([[y.sum()]], [20.25])
    covariance = np.eye(20) + 4.0
    evidence = 0.5 * (np.linalg.slogdet(2 * np.pi * covariance)[1] + y @ np.linalg.solve(covariance, y))
    for cuts in ([], [7], [1, 2, 3, 19]):
        result = learn(MeanOfNormal(), prior, np.split(y, cuts))
        assert_allclose(result.posterior.shift, exact.shift)
        assert_allclose(result.posterior.precision, exact.precision)
        assert_allclose(result.objective, [evidence])


def test_a_replay_replaces_what_a_batch_added_before():
    result = learn(WordCounts(), PRIOR, BATCHES, n_passes=4)
    assert result.posterior == Dirichlet([[6.0, 6.0]])
    assert result.n_examples == 40
    assert result.objective == [3.0] * 4
    # Halves: pass 1 adds 1/2, then 3/4; pass 2 takes 1/2 away from 9/4 and adds half of the rest.
    values = [
        s.state.posterior.concentration[0, 0] for s in rounds(Halves(), State(PRIOR), [0, 1], n_passes=2)
    ]
    assert values == [1.5, 2.25, 1.75 * 1.5, (1.75 * 1.5 - 0.75) * 1.5]


@pytest.mark.parametrize("n_batches", [1, 2, 3])
def test_a_guess_is_there_until_its_batch_is_learned(n_batches):
    """Halves of 8, of which 3 and 1 are guesses; the second batch's is kept while it is learned."""
    guesses = [Step(Dirichlet([[guess]]), 0.0, 1) for guess in (3.0, 1.0)][:n_batches]
    states = rounds(Halves(), State(Dirichlet([[8.0]])), range(n_batches), guesses=guesses)
    assert [float(now.state.posterior.concentration[0, 0]) for now in states] == [9.0, 12.5, 18.75][
        :n_batches
    ]


def test_nothing_is_forgotten_while_there_are_guesses():
    states = rounds(
        WordCounts(),
        State(Dirichlet([[8.0]])),
        [[2.0], [2.0]],
        guesses=[Step(Dirichlet([[4.0]]), 0.0, 1)],
        discount=0.5,
        prior=Dirichlet([[4.0]]),
    )
    assert [float(now.state.posterior.concentration[0, 0]) for now in states] == [6.0, 7.0]


def test_passes_over_one_batch_learn_it_from_what_it_taught_last():
    passes = [s.state.posterior.concentration[0, 0] for s in rounds(Halves(), State(PRIOR), [0], n_passes=3)]
    assert passes == [1.5, 1.75, 1.875]  # as iterations do: 1 + 1/2, 1 + 3/4, 1 + 7/8


def test_steps_are_numbered_from_where_the_state_stands():
    model = WordCounts()
    *_, last = rounds(model, State(PRIOR, n_steps=100), BATCHES, n_passes=2)
    assert model.indices == list(range(100, 106))
    assert (last.state.n_steps, last.state.n_examples, last.n_examples) == (106, 10, 20)


def test_a_model_of_gradients_replaces_nothing():
    assert learn(WordCounts(), PRIOR, BATCHES, n_passes=2, replaces=False).posterior == Dirichlet(
        [[11.0, 11.0]]
    )


def test_statistics_of_some_columns_and_of_several_posteriors():
    class Both:
        def propose(self, posterior, batch, index, before=None):
            column, count = batch
            statistics = Joint(
                words=Columns(np.array([column]), Dirichlet([[count]])), rate=Gaussian([[count]], [1.0])
            )
            return Step(statistics, 0.0, 1)

    prior = Joint(words=Dirichlet.prior(1, 3, eta=0.5), rate=Gaussian.prior(1, 1, structure="isotropic"))
    for n_passes in (1, 3):
        posterior = learn(Both(), prior, [(0, 2.0), (2, 1.0)], n_passes=n_passes).posterior
        assert posterior == Joint(words=Dirichlet([[2.5, 0.5, 1.5]]), rate=Gaussian([[3.0]], [3.0]))


def test_a_discount_forgets_before_each_batch():
    posterior = learn(WordCounts(), PRIOR, BATCHES, discount=0.5, prior=PRIOR).posterior
    assert_allclose(posterior.concentration, [[1 + 0.25 * 1 + 0.5 * 4, 1 + 0.5 * 2 + 3]])


@pytest.mark.parametrize(("tol", "n_passes"), [(1e-1, 2), (1e-2, 3), (1e-3, 4), (0.0, 6)])
def test_learning_stops_when_the_objective_changes_little(tol, n_passes):
    objectives = [100.0, 101.0, 101.2, 101.21, 101.2101, 101.2101]
    model = WordCounts([half for value in objectives for half in (value / 2, value / 2)])
    assert len(learn(model, PRIOR, BATCHES[:2], n_passes=6, tol=tol).objective) == n_passes


def test_callbacks_see_every_round_and_can_stop():
    seen, all_of_them = [], []

    def stop_at_five(state):
        seen.append(state)
        return len(seen) == 5

    result = learn(WordCounts(), PRIOR, BATCHES, n_passes=10, callbacks=[stop_at_five, all_of_them.append])
    assert isinstance(result, Result)
    assert len(seen) == len(all_of_them) == 5
    assert isinstance(seen[0], Round)
    assert (seen[-1].pass_index, seen[-1].batch_index) == (1, 1)
    assert result.objective == [3.0, 2.0]
    assert result.posterior == Dirichlet([[6.0, 6.0]])


def test_a_callback_stops_only_by_true():
    assert len(learn(WordCounts(), PRIOR, BATCHES, callbacks=[lambda state: 1]).objective) == 1
    assert learn(WordCounts(), PRIOR, BATCHES, callbacks=[lambda state: "yes"]).n_examples == 10


def test_a_stream_is_read_once_and_only_as_far_as_needed():
    read = []

    def stream():
        for batch in BATCHES:
            read.append(batch)
            yield batch

    steps = rounds(WordCounts(), State(PRIOR), stream())
    assert next(steps).n_batches is None
    assert read == BATCHES[:1]
    assert len(list(steps)) == 2
    with pytest.raises(
        ValueError, match="n_passes is 2 but the batches can be iterated only once; pass a list"
    ):
        learn(WordCounts(), PRIOR, stream(), n_passes=2)


def test_no_batches_teach_nothing():
    result = learn(WordCounts(), PRIOR, [])
    assert result == Result(State(PRIOR), [], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_passes": 0}, "n_passes is 0; it must be at least 1"),
        ({"discount": 0.0, "prior": PRIOR}, r"discount is 0.0; it must lie in \(0, 1\]"),
        ({"discount": 1.1, "prior": PRIOR}, r"discount is 1.1; it must lie in \(0, 1\]"),
        ({"discount": np.nan, "prior": PRIOR}, r"discount is nan; it must lie in \(0, 1\]"),
        ({"discount": 0.5}, "discount 0.5 needs a prior to forget towards"),
        (
            {"discount": 0.5, "prior": PRIOR, "n_passes": 2},
            "discount is 0.5 and n_passes 2; discount is for one pass",
        ),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        learn(WordCounts(), PRIOR, BATCHES, **options)
