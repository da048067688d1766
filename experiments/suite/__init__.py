"""How our models stand beside linear learners, on corpora of many kinds: `python -m experiments.suite -h`."""
