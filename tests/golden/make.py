"""Writes the golden model files of the present format that are not there yet.

    python tests/golden/make.py

Run for each new version of the format or kind of model. Files that are there stay as they are, and
tests/test_files.py loads all of them.
"""

import json
from pathlib import Path

import bayespa
from bayespa.corpus import OnlineVocabulary
from bayespa.text import files

FOLDER = Path(__file__).parent
TEXTS = [
    "the cat chases the mouse and the mouse runs",
    "stars and planets orbit in space",
    "a mouse sleeps while the cat waits",
    "space is full of stars",
    "cat and mouse play in the garden",
    "planets orbit stars, stars orbit nothing",
] * 4
COUNTS = OnlineVocabulary(30, min_count=2).learn(TEXTS)
TARGETS = {
    "class": ["animals", "sky"] * 12,
    "classes": [("animals",), ("sky", "far"), ("animals", "near"), ("sky",), (), None] * 4,
    "number": [1.0, -1.5, 0.5, -1.0, 1.25, -2.0] * 4,
}
KINDS = {
    "medlda": {"n_topics": 3, "random_state": 0},
    "medhdp": {"max_topics": 4, "random_state": 0},
    "linear": {"random_state": 0},
}


def models():
    for kind, parameters in KINDS.items():
        for target, labels in TARGETS.items():
            vocabulary = OnlineVocabulary(30, min_count=2)
            model = bayespa.TextModel(kind, vectorizer=vocabulary, **parameters)
            yield f"{kind}-{target}", model.learn(TEXTS, labels).settle()
    for name, kind, parameters in (
        ("topics", "medlda", {"decides": "topics", "expert": {"rule": "averaging", "n_sweeps": 5}}),
        ("one-vs-rest", "medhdp", {"multi_class": "ovr"}),
    ):
        vocabulary = OnlineVocabulary(30, min_count=2)
        model = bayespa.TextModel(kind, vectorizer=vocabulary, **KINDS[kind], **parameters)
        yield f"{kind}-{name}", model.learn(TEXTS, ["animals", "sky", "garden"] * 8).settle()
    waiting = bayespa.TextModel("medlda", vectorizer=OnlineVocabulary(30, min_count=2), **KINDS["medlda"])
    yield "medlda-waiting", waiting.learn(TEXTS, TARGETS["class"])
    gibbs = bayespa.GibbsMedLDAClassifier(3, n_sweeps=8, burn_in=4, random_state=0)
    yield "gibbs-medlda", gibbs.fit(COUNTS, TARGETS["class"])
    yield "online-hdp", bayespa.OnlineHDP(max_topics=4, batch_size=8, random_state=0).fit(COUNTS)
    yield "online-lda", bayespa.OnlineLDA(3, batch_size=8, random_state=0).fit(COUNTS)


def said(model):
    """What a model says of the first six texts."""
    if isinstance(model, bayespa.GibbsMedLDAClassifier):
        return {"probabilities": model.predict_proba(COUNTS[:6]).tolist()}
    if not isinstance(model, bayespa.TextModel):
        return {"proportions": model.transform(COUNTS[:6]).tolist()}
    found = {"predicted": model.predict(TEXTS[:6])}
    waits = model.learner._learned.waiting is not None  # probabilities are then those of how models learn now
    if model.target != "number" and not waits:
        found["probabilities"] = model.predict_proba(TEXTS[:6]).tolist()
    return found


if __name__ == "__main__":
    path = FOLDER / f"v{files.VERSION}.json"
    expected = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, model in models():
        name = f"v{files.VERSION}-{name}"
        if name not in expected:
            bayespa.save(model, FOLDER / f"{name}.bayespa")
            expected[name] = said(model)
    path.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
