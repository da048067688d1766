"""``bayespa topics`` on models whose classes have topics of their own."""

import pytest

import bayespa as package

TEXTS = ["the cat and the mouse", "stars and planets in space", "bread and butter in the oven"] * 8
LABELS = ["animals", "sky", "food"] * 8


@pytest.mark.parametrize("kind", ["medlda", "medhdp"])
def test_a_topic_belongs_to_a_class(bayespa, kind, tmp_path):
    topics = {"medlda": {"n_topics": 2}, "medhdp": {"max_topics": 2}}[kind]
    model = package.TextModel(kind, multi_class="ovr", random_state=0, **topics)
    package.save(model.learn(TEXTS, LABELS), tmp_path / "model")
    rows = bayespa("topics", tmp_path / "model", "--words", 3, "--json").json
    names = model.estimator.topic_names_
    assert sorted(row["topic"] for row in rows) == list(range(len(names)))
    for row in rows:
        assert row["name"] == names[row["topic"]]
        assert row["class"] in (None, names[row["topic"]].split(" of ")[1])  # for it, or not clearly
        assert row["words"] == model.topics(3)[row["topic"]]
    assert abs(sum(row["share"] for row in rows) - 1.0) < 1e-9
    lines = bayespa("topics", tmp_path / "model").out.splitlines()
    assert all(line.strip().startswith(row["name"]) for line, row in zip(lines, rows, strict=True))


@pytest.mark.parametrize("kind", ["medlda", "medhdp"])
def test_two_classes_and_numbers_have_one_model(bayespa, kind, tmp_path):
    topics = {"medlda": {"n_topics": 2}, "medhdp": {"max_topics": 2}}[kind]
    for labels in (["animals", "sky"] * 12, [1.0, -1.0] * 12):
        model = package.TextModel(kind, multi_class="ovr", random_state=0, **topics)
        package.save(model.learn(TEXTS, labels), tmp_path / "model")
        rows = bayespa("topics", tmp_path / "model", "--json").json
        assert len(rows) == len(model.estimator.topic_word_)
        if isinstance(labels[0], str):
            assert {row["class"] for row in rows} <= {"animals", "sky", None}
        else:  # compared with the average document, in the unit of the numbers
            average = sum(row["share"] * model.estimator.coef_[0, row["topic"]] for row in rows)
            for row in rows:
                above = model.estimator.coef_[0, row["topic"]] - average
                assert row["weight"] == pytest.approx(model.estimator.units_[0] * above)
