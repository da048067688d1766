"""Fixtures for the whole suite."""

import gc
import os
import sys
from pathlib import Path

import pytest

from bayespa import _native

_BESIDE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let the garbage collector pass over modules and tests: it takes a third of a second to look at all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Folder of the published corpora, which are not part of the repository."""
    folder = Path(os.environ.get("BAYESPA_DATA") or _BESIDE_REPOSITORY)
    if not folder.is_dir():
        pytest.skip(f"no corpora: {folder} is not a folder; set BAYESPA_DATA to the one that holds them")
    return folder


@pytest.fixture(params=_native.available_isas())
def isa(request, monkeypatch):
    """Run the test once with the kernels of each instruction set of this machine."""
    monkeypatch.setenv("BAYESPA_ISA", request.param)
    return request.param


@pytest.fixture
def cut_short():
    """Return a function that runs a call and raises an error at its n-th line (or bytecode) in bayespa.

    It returns whether the call came that far.
    """

    def run(call, at, error=KeyboardInterrupt, *, bytecodes=False):
        left = at

        def trace(frame, event, argument):
            nonlocal left
            if not frame.f_globals.get("__name__", "").startswith("bayespa."):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = bytecodes, not bytecodes
            if event in ("call", "line", "opcode"):
                left -= 1
                if left < 0:
                    sys.settrace(None)
                    raise error
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        except error:
            pass
        finally:
            sys.settrace(before)
        return left < 0  # Python ignores an error while a generator is closed

    return run
