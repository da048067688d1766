"""Shared by the loaders: paths of files, archives, and labels as matrices."""

import lzma
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MultiLabelBinarizer

_PARTS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}


def subset_parts(subset: str) -> tuple[str, ...]:
    """Return the parts of the train/test split for `subset`."""
    if subset not in _PARTS:
        raise ValueError(f"subset={subset!r} is unknown; use 'train', 'test' or 'all'")
    return _PARTS[subset]


def locate(file_name: str, data_home: str | os.PathLike[str] | None) -> Path:
    """Return the path of `file_name` in `data_home`, or in the folder ``BAYESPA_DATA``."""
    folder = data_home or os.environ.get("BAYESPA_DATA")
    path = Path(folder, file_name) if folder else None
    if path is not None and path.is_file():
        return path
    if path is None:
        looked = "data_home= was not given and the environment variable BAYESPA_DATA is not set"
    else:
        looked = f"looked for {path} ({'data_home=' if data_home else 'environment variable BAYESPA_DATA'})"
    raise FileNotFoundError(
        f"{file_name} not found: {looked}; give its folder as data_home= or in BAYESPA_DATA"
    )


class Archive(dict[str, bytes]):
    """The files of a ``.tar.xz``, by their path below its top folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with tarfile.open(path, "r:xz") as archive:
                for member in archive:
                    # None for a folder; members are read in the order of the archive, so it is decompressed
                    # once.
                    if (content := archive.extractfile(member)) is not None:
                        self["/".join(PurePosixPath(member.name).parts[1:])] = content.read()
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise ValueError(f"{path} is not a complete .tar.xz archive ({error}); copy it again") from error

    def __missing__(self, name: str) -> bytes:
        raise ValueError(f"{self.path} has no file {name!r}, only {sorted(self)[:10]}; copy it again")


def indicator(labels: Sequence[Sequence[Any]], classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the (n_documents, n_classes) 0/1 matrix of lists of labels."""
    matrix: NDArray[np.int64] = MultiLabelBinarizer(classes=list(classes)).fit_transform(labels)
    return matrix
