"""Requests made up from the description of the service: none of them may be answered by a 5xx.

    python -m fuzz.service --seconds 600

schemathesis, which has to be installed, reads ``/openapi.json`` of a service that learns, and sends what the
description allows and what it does not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.serve.program import Programs

import bayespa
from bayespa.datasets import load_arxiv_sample


def main() -> int:
    """Run the service and schemathesis against it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    papers = load_arxiv_sample(subset="train")
    labels = [names[0] for names in papers.labels]
    model = bayespa.TextModel(n_topics=5, random_state=0).learn(papers.data[:200], labels[:200])
    with tempfile.TemporaryDirectory() as name, Programs(Path(name)) as programs:
        path = Path(name, "model.bayespa")
        bayespa.save(model, path)
        program = programs.start(path)
        try:
            return subprocess.run(
                [
                    str(Path(sys.executable).with_name("schemathesis")),
                    "run",
                    f"http://127.0.0.1:{program.port}/openapi.json",
                    "--checks=not_a_server_error",
                    f"--max-time={options.seconds}",
                    "--continue-on-failure",
                ],
                check=False,
                cwd=name,
            ).returncode
        finally:
            program.kill()


if __name__ == "__main__":
    sys.exit(main())
