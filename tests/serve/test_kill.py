"""Killed at any moment, the service comes back with all that it has acknowledged, to the bit."""

import os
import random
import shutil
import signal
import time

from tests.serve.program import Programs, Teacher

import bayespa
from bayespa.serve.log import Log
from bayespa.serve.service import Service

KILLS = int(os.environ.get("BAYESPA_KILLS", "10"))
TEACHERS = 3
OPTIONS = ("--checkpoint-every", "40", "--delay", "0.02", "--batch-size", "16")


def test_nothing_is_lost_or_learned_twice(path, papers, tmp_path):
    random.seed(KILLS)
    texts, labels = papers
    pairs = zip(texts * (1 + KILLS // 10), labels * (1 + KILLS // 10), strict=True)
    documents = [{"text": text, "label": label, "id": f"d{n}"} for n, (text, label) in enumerate(pairs)]
    shares = [documents[i::TEACHERS] for i in range(TEACHERS)]
    acknowledged, by_id = {}, {document["id"]: document for document in documents}
    base = tmp_path / "base.bayespa"
    with Programs(tmp_path) as programs:
        for kill in range(KILLS + 1):
            program = programs.start(
                path, "--checkpoint-every", "40", "--delay", "0.02", "--batch-size", "16"
            )
            if kill == 0:
                shutil.copy(path, base)  # begun, and nothing learned yet
            wanted = len(acknowledged) + 20
            teachers = [Teacher(program.port, share, acknowledged) for share in shares]
            for teacher in teachers:
                teacher.start()
            while len(acknowledged) < wanted:
                time.sleep(0.001)
            if kill < KILLS:
                time.sleep(random.uniform(0.0, 0.1))
                assert program.kill() == -signal.SIGKILL
            for teacher in teachers:
                teacher.ended = True
                teacher.join()
        assert program.kill(signal.SIGTERM) == 128 + signal.SIGTERM

    folder = tmp_path / "model.bayespa.serve"
    log = Log(folder / "log")
    records = list(log.read())
    log.close()
    ids = [record.id for record in records]
    assert len(ids) == len(set(ids))
    assert {record.id: record.seq for record in records if record.id in acknowledged} == acknowledged
    for record in records:
        assert (record.text, record.label) == (by_id[record.id]["text"], by_id[record.id]["label"])
    assert bayespa.load(path).run["documents"] == len(records)

    # A run without a kill, from the same beginning and the same log, ends in the same file.
    whole = tmp_path / "whole" / "model.bayespa"
    shutil.copytree(folder / "log", whole.parent / "model.bayespa.serve" / "log")
    shutil.copy(base, whole)
    with Service(whole) as service:
        service.save()
    assert whole.read_bytes() == path.read_bytes()
