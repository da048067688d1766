"""Writes the golden model files of the present format: run once for each new version of it, never again.

    python tests/golden/make.py

Files of older versions stay as they are, and tests/test_files.py loads all of them.
"""

import json
from pathlib import Path

import bayespa
from bayespa import files
from bayespa.corpus import OnlineVocabulary

FOLDER = Path(__file__).parent
TEXTS = [
    "the cat chases the mouse and the mouse runs",
    "stars and planets orbit in space",
    "a mouse sleeps while the cat waits",
    "space is full of stars",
    "cat and mouse play in the garden",
    "planets orbit stars, stars orbit nothing",
] * 4
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
            if kind == "linear" and target == "classes":
                continue
            vocabulary = OnlineVocabulary(30, min_count=2, fixed_width=kind == "linear")
            model = bayespa.TextModel(kind, vectorizer=vocabulary, **parameters)
            yield f"{kind}-{target}", model.learn(TEXTS, labels)


if __name__ == "__main__":
    expected = {}
    for name, model in models():
        name = f"v{files.VERSION}-{name}"
        bayespa.save(model, FOLDER / f"{name}.bayespa")
        expected[name] = {"predicted": model.predict(TEXTS[:6])}
        if model.target != "number":
            expected[name]["probabilities"] = model.predict_proba(TEXTS[:6]).tolist()
    path = FOLDER / f"v{files.VERSION}.json"
    path.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
