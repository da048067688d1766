"""Fixtures for the whole suite."""

import os
from pathlib import Path

import pytest

from bayespa import _native

_BESIDE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"


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
