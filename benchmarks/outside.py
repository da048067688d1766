"""How much of the time of online MedLDA is spent outside the native step, and what a second thread gives.

    python -m benchmarks.outside [--batch-size 256] [--repeats 5]

Learns the training set of 20 Newsgroups with the defaults. The native step cuts a mini-batch out of the
corpus, computes the topics' factors and samples; the rest is Python, and native arithmetic on the posterior,
which is shown apart. Goals: at most 10 % of the CPU time outside the step, two threads at least 1.8 times as
fast as one.
"""

import argparse
import functools
import statistics

from bayespa import MedLDAClassifier, _native
from benchmarks.corpora import read
from benchmarks.measure import Watch

STEP = ("cut_documents", "medlda_phi", "medlda_step")


def watched(names):
    """Measure the calls of native functions from now on."""
    watch = Watch()

    def wrapper(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with watch:
                return function(*args, **kwargs)

        return call

    for name in names:
        setattr(_native, name, wrapper(getattr(_native, name)))
    return watch


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data-home", help="folder of the corpora; by default BAYESPA_DATA")
    options = parser.parse_args()
    corpus = read("matlab", options.data_home, quick=False)
    step = watched(STEP)
    native = watched(name for name in dir(_native) if not name.startswith("_") and name not in STEP)
    shares, others, fits, steps = [], [], [], []
    for _ in range(options.repeats):
        seconds = {}
        for n_jobs in (1, 2):
            model = MedLDAClassifier(
                batch_size=options.batch_size, decides="topics", n_jobs=n_jobs, random_state=0
            )
            before = step.cpu, native.cpu, step.wall
            with Watch() as fit:
                model.fit(corpus.X, corpus.y)
            seconds[n_jobs] = fit.wall, step.wall - before[2]
            if n_jobs == 1:
                shares.append(1.0 - (step.cpu - before[0]) / fit.cpu)
                others.append((native.cpu - before[1]) / fit.cpu)
        fits.append(seconds[1][0] / seconds[2][0])
        steps.append(seconds[1][1] / seconds[2][1])
    print(corpus.describe())
    print(f"batches of {options.batch_size} documents, {options.repeats} fits: the median, least and most")
    for name, values in {
        "CPU time outside the native step": shares,
        "  of which native arithmetic": others,
        "two threads against one, the step": steps,
        "two threads against one, all of fit": fits,
    }.items():
        print(f"{name:36} {statistics.median(values):6.3f}  {min(values):6.3f}  {max(values):6.3f}")


if __name__ == "__main__":
    main()
