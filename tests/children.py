"""Processes that run the program, children of one that has imported everything: they start at once."""

import multiprocessing
import os
from contextlib import contextmanager

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    ["bayespa.cli.start", "bayespa.linear", "bayespa.sources", "bayespa.text.stream", "bayespa.topics"]
)

# As text, because a child cannot import tests. A background shell ignores SIGINT, as the program would.
PROGRAM = """
import os, signal, sys
from bayespa.cli import main
{before}
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdout = sys.stderr = open({said!r}, "w", buffering=1)
sys.stdin = open({stdin!r})
main({arguments!r})
"""


@contextmanager
def running(*arguments, before="", said=os.devnull, stdin=os.devnull):
    """Run the program with arguments while the block runs, and code before it; `said` is what it prints."""
    code = PROGRAM.format(
        arguments=[str(a) for a in arguments], before=before, said=str(said), stdin=str(stdin)
    )
    process = processes.Process(target=exec, args=(code, {}))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
