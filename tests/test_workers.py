"""Workers on Ray: the same bits whatever is lost, and what cannot be done is said."""

import json
import operator
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.test_lag import SMALL, new, soon, texts  # noqa: F401  # soon: for all tests

import bayespa
from bayespa import workers as workers_module
from bayespa.corpus import Document, read
from bayespa.learning import HERE
from bayespa.text.columns import new_vocabulary
from bayespa.text.stream import learn_stream
from bayespa.workers import Workers

ray = pytest.importorskip("ray", reason="Ray is not installed, or has no wheel for this Python")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
KILLS = int(os.environ.get("BAYESPA_KILLS", "2"))  # of workers, and half as many of the driver
KINDS = [("medlda", "class"), ("medhdp", "classes"), ("linear", "number"), ("medlda", "number")]


def written(target, path):
    """Write documents to a Parquet file, whose row groups are read and counted by several workers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"text": one.content, "label": one.label} for one in texts(target)]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=40)
    return path


def model_file(kind, path, workers=None):
    """Learn the documents that `written` wrote; return the bytes of the model's file."""
    vocabulary = new_vocabulary({})
    model = new(kind, vectorizer=vocabulary)
    documents = read(path, workers=workers, vocabulary=vocabulary)
    for _ in learn_stream(model, documents, every=150, workers=workers or HERE):
        pass
    saved = path.with_suffix(".bayespa")
    bayespa.save(model, saved)
    return saved.read_bytes()


class Kills:
    """Kills workers at random moments, until the block ends."""

    def __init__(self, workers, seed=0):
        self.workers, self.random, self.n = workers, random.Random(seed), 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.wait(self.random.uniform(0.05, 0.4)):
            pids = [int(name.rpartition(":")[2]) for name in list(self.workers.calls)]
            for pid in self.random.sample(pids, min(1, len(pids))):
                try:
                    os.kill(pid, signal.SIGKILL)
                    self.n += 1
                except ProcessLookupError:
                    pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()


def a_call_that_is_not_answered_is_sent_again(workers, monkeypatch):
    """If its worker hangs, and if no processor seems to be free."""
    sleep = ray.remote(num_cpus=1)(lambda: time.sleep(600))
    others = [sleep.remote() for _ in range(workers.n)]
    ray.wait(others, timeout=1.0)
    with monkeypatch.context() as patch:
        patch.setattr(workers_module, "PATIENCE", 1.0)
        assert workers.submit(abs, -3).result() == 3
        for other in others:
            ray.cancel(other, force=True)
        assert workers.submit(abs, -4).result() == 4
        stopped = [int(name.rpartition(":")[2]) for name in workers.calls]
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        assert list(workers.map(abs, range(-9, 0))) == [*range(9, 0, -1)]
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_two_machines_of_which_one_is_lost_and_workers_that_are_killed(tmp_path, monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.setattr(workers_module, "PATIENCE", 5.0)  # Ray may lose count of its processors under kills
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    paths = {target: written(target, tmp_path / f"{target}.parquet") for _, target in KINDS}
    here = {kind: model_file(kind[0], paths[kind[1]]) for kind in KINDS}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = cluster.add_node(num_cpus=1)
        with Workers(address=cluster.address) as workers:
            assert workers.n == 2
            # What a step raises is raised here; one that no worker survives is told.
            calls = [workers.submit(operator.truediv, 1, n % 4) for n in range(16)]
            for i in (3, 2, 15, 1):
                assert calls[i].result() == 1 / (i % 4)
            with pytest.raises(ZeroDivisionError) as caught:
                calls[4].result()
            assert "on a worker:\nTraceback" in str(caught.value.__cause__)
            assert "function(*arguments)" in str(caught.value.__cause__)
            assert [calls[i].sent[1] for i in range(8)] == [0, 1, 2, 3] * 2  # two calls for each of two
            call, workers._call = workers._call, workers._call.options(max_retries=0)
            aborted = workers.submit(os.abort)
            for _ in range(2):
                with pytest.raises(RuntimeError, match="workers were lost"):
                    aborted.result()
            workers._call = call
            a_call_that_is_not_answered_is_sent_again(workers, monkeypatch)
            # In order, though the first takes longest, and with what is shared.
            assert list(workers.map(time.sleep, [0.5, 0.0])) == [None, None]
            assert list(workers.map(operator.getitem, range(9, -1, -1), shared=list(range(10)))) == [
                *range(9, -1, -1)
            ]
            for kind in KINDS[:2]:
                assert model_file(kind[0], paths[kind[1]], workers) == here[kind]
            with Kills(workers) as kills:
                one_run_with_kills(workers, kills)
            lost = threading.Timer(0.3, cluster.remove_node, [second])
            lost.start()
            for kind in KINDS[:2]:
                assert model_file(kind[0], paths[kind[1]], workers) == here[kind]
            lost.join()
            assert workers.n == 1
            cluster.add_node(num_cpus=4)
            assert workers.n == 5
            for kind in KINDS:
                assert model_file(kind[0], paths[kind[1]], workers) == here[kind]
    finally:
        cluster.shutdown()


def one_run_with_kills(workers, kills):
    """Learn until enough workers were killed; then the same in this thread. All is counted, and once."""
    documents = []

    def stream():
        for i in count():
            documents.extend(Document(f"{one.content} run{i}", one.label, one.id) for one in texts("class"))
            yield from documents[-500:]
            if kills.n >= KILLS:
                return

    shared, here = new("medlda"), new("medlda")
    for _ in learn_stream(shared, stream(), every=2000, workers=workers):
        pass
    for _ in learn_stream(here, documents, every=2000):
        pass
    for model in (shared, here):
        assert model.estimator.n_documents_seen_ == len(documents)
        assert model.version == 3 + (len(documents) - 60) // SMALL["batch_size"]  # 60 documents begin
        counts = model.counts([one.content for one in documents])
        n_tokens = counts[:, model.estimator.topic_words_].sum()
        assert model.estimator.topic_sizes_.sum() == pytest.approx(n_tokens)
    left, right = (model.estimator.posterior_.to_arrays() for model in (shared, here))
    assert {name: array.tobytes() for name, array in left.items()} == {
        name: array.tobytes() for name, array in right.items()
    }


def corpus(folder, size=150):
    """Parquet of several row groups, and files of lines beside it; labels are mixed, words are many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, paths = np.random.default_rng(0), []
    for part in range(4):
        label = rng.integers(3, size=size)
        rows = [
            {
                "text": " ".join(f"w{k}x{n}" for n in rng.integers(40, size=15)) + f" own{part}x{i}",
                "label": f"c{k}",
            }
            for i, k in enumerate(label)
        ]
        if part == 2:
            paths.append(folder / f"{part}.jsonl")
            lines = [json.dumps(row) for row in rows]
            paths[-1].write_text("\n".join([*lines[:7], "no JSON", *lines[7:]]), encoding="utf-8")
        else:
            paths.append(folder / f"{part}.parquet")
            pq.write_table(pa.Table.from_pylist(rows), paths[-1], row_group_size=40)
    return [str(path) for path in paths]


def command(*arguments):
    """Return a command line of the program, which takes the documents for a part of many."""
    program = "from bayespa.cli import main, start; start.MOST_CLASSES = -1; main()"
    return [sys.executable, "-c", program, *map(str, arguments)]


def modified(path):
    return path.stat().st_mtime_ns if path.exists() else None


def run(*arguments):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    return done


def orphans(folder):
    """Processes of a Ray that programs have started in this folder, which their command lines name."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if f"{folder}/bayespa-ray-".encode() in text and b"raylet" in text:
            found.append(path.parent.name)
    return found


@pytest.fixture
def short(monkeypatch):
    """Return a folder for temporary files, of a short name: Ray has sockets in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield folder


def test_the_program_with_workers_killed_and_resumed_writes_the_same_model(tmp_path, short):
    kills = max(1, KILLS // 2)
    inputs = corpus(tmp_path, 150 * kills)
    options = ["--batch-size", 3, "--topics", 4, "--set", "first_documents=40"]
    options += ["--lag", 8, "--shuffle", 0]
    alone, shared = tmp_path / "alone.bayespa", tmp_path / "shared.bayespa"
    said = run("train", *inputs, "-o", alone, *options, "--workers", 0)
    assert "2.jsonl, line 8" in said.stderr
    checkpoint = shared.with_name(f"{shared.name}.checkpoint")
    moments = random.Random(0)
    for _ in range(kills):
        saved = modified(checkpoint)
        again = ["--checkpoint-every", moments.randrange(50, 150), "--workers", 2, "--resume"]
        driver = subprocess.Popen(
            command("train", *inputs, "-o", shared, *options, *again), stderr=subprocess.PIPE
        )
        while driver.poll() is None and modified(checkpoint) == saved:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.1))
        driver.kill()
        driver.communicate()
        assert driver.returncode == -signal.SIGKILL
        assert checkpoint.exists()
    said = run("train", *inputs, "-o", shared, *options, "--workers", 0, "--resume")
    assert "2.jsonl, line 8" in said.stderr
    left, right = (bayespa.load(path) for path in (alone, shared))
    for name, array in left.estimator.posterior_.to_arrays().items():
        assert array.tobytes() == right.estimator.posterior_.to_arrays()[name].tobytes()
    assert left.run["documents"] == right.run["documents"] == left.estimator.n_documents_seen_ == 600 * kills
    assert left.vectorizer.to_state() == right.vectorizer.to_state()
    assert left.run["checksum"] == right.run["checksum"]
    answers = [run("predict", shared, *inputs, *who).stdout for who in ([], ["--workers", 2])]
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 600 * kills
    for _ in range(100):
        if not orphans(short):
            break
        time.sleep(0.1)
    assert not orphans(short)


def test_workers_are_asked_for_in_one_way():
    with pytest.raises(ValueError, match="give n"):
        Workers()
    with pytest.raises(ValueError, match="give n"):
        Workers(2, address="auto")
    assert HERE.submit(abs, -3).result() == 3


def test_the_folder_of_a_driver_that_was_killed_is_removed_by_the_next(short):
    used, lock = workers_module._new_folder()
    for name in ("left", "new"):
        Path(short, f"{workers_module.FOLDER}{name}").mkdir()
    for path in (used, f"{short}/{workers_module.FOLDER}left"):
        os.utime(path, (0, 0))
    made, other = workers_module._new_folder()
    assert {path.name for path in Path(short).iterdir()} == {
        Path(used).name,
        f"{workers_module.FOLDER}new",
        Path(made).name,
    }
    os.close(lock)
    os.close(other)
