"""Original tables: where they come from, and the checksum without which none is used.

What is verified is the parsed table, not the bytes. What is made from the tables is in `designs`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pdpbook.datasets.stand_ins import stand_in
from pdpbook.validation import check_choice

__all__ = ["canonical_checksum", "load"]

TIMEOUT = 5.0  # seconds to wait for a public address


UCI = "https://archive.ics.uci.edu/static/public/"


AUTOMOBILE_WORDS = frozenset(
    "make fuel_type aspiration num_of_doors body_style drive_wheels engine_location "
    "engine_type num_of_cylinders fuel_system".split()
)


def _types(names: str, default: str = "float64", **others: str) -> dict[str, str]:
    return {name: others.get(name, default) for name in names.split()}


@dataclass(frozen=True)
class Source:
    """Where a table comes from, how it is read, and what it must be."""

    file: str
    types: dict[str, str]
    checksum: str
    url: str | None = None
    archived: bool = False  # the address serves a zip archive that holds the file
    options: Callable[[], dict[str, Any]] = dict  # how pandas reads the original file
    advice: str = ""


SOURCES = {
    "medical-cost": Source(
        "insurance.csv",
        _types(
            "age sex bmi children smoker region charges",
            age="int64",
            children="int64",
            sex="str",
            smoker="str",
            region="str",
        ),
        "bf24b412bee5075f277201c613a5e45f2704a9c28bf9fe7e6638b2c05cb4a014",
        "https://raw.githubusercontent.com/stedy/Machine-Learning-with-R-datasets/"
        "d20658ec6d336af2d4ddb5fd72b6f677dd46136e/insurance.csv",
    ),
    "lenses": Source(
        "lenses.data",
        _types("row age prescription astigmatic tear_rate class", "int64"),
        "35b2b5f445d2187d30cd0bb978774b388237cb3e82fd8647a13c39a8dfd7cf6d",
        UCI + "58/lenses.zip",
        archived=True,
        options=partial(dict, sep=r"\s+", header=None),
    ),
    "concrete-slump": Source(
        "slump_test.data",
        _types(
            "row cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate "
            "slump flow strength",
            row="int64",
        ),
        "9f94167632960bc29500fd8fc01b5856db2c3f4b5607ad12efa115444dd9e359",
        UCI + "182/concrete+slump+test.zip",
        archived=True,
    ),
    "automobile": Source(
        "imports-85.data",
        _types(
            "symboling normalized_losses make fuel_type aspiration num_of_doors body_style "
            "drive_wheels engine_location wheel_base length width height curb_weight engine_type "
            "num_of_cylinders engine_size fuel_system bore stroke compression_ratio horsepower "
            "peak_rpm city_mpg highway_mpg price",
            symboling="int64",
            **dict.fromkeys(AUTOMOBILE_WORDS, "str"),
        ),
        "8eebf16fc70753072a706900f6f9d2e418e912a26cc7521efddb82498c57ea8f",
        UCI + "10/automobile.zip",
        archived=True,
        options=partial(dict, header=None),
    ),
    "druglib": Source(
        "druglib_train_numeric.csv",
        _types(
            "user rating effectiveness side_effects words_benefits words_side_effects "
            "words_comments",
            "int64",
        ),
        "763a9e340156826fec79c0cf81af5ec599af178776a6d36844f07bdb225b98d7",
        advice=(
            "The file has no public address: its authors ask that it be used for research only, "
            "cited (Graesser, Kallumadi, Malberg and Zaunseder 2018), and not redistributed. The "
            "original reviews are at https://archive.ics.uci.edu/dataset/461/"
            "drug+review+dataset+druglib+com; the numbers are the drug (0, 1, ... in order of "
            "appearance), the three ratings, and the word counts of the three texts"
        ),
    ),
}


NAMES = (*SOURCES, "diabetes")


def load(name: str) -> pd.DataFrame:
    """Real table by name, verified against its canonical checksum.

    Parameters
    ----------
    name : str
        ``medical-cost`` (1338 simulated insurance records), ``lenses`` (24), ``concrete-slump``
        (103), ``automobile`` (205, several a `make`), ``druglib`` (3107, several a `user`) or
        ``diabetes`` (442 patients; comes with scikit-learn, so it is always there).

    Returns
    -------
    pandas.DataFrame
        Rows in file order. ``frame.attrs["stand_in"]`` is False, or True for a generated
        stand-in; ``frame.attrs["name"]`` is `name`.

    Raises
    ------
    FileNotFoundError
        If the table is at none of its places.
    ValueError
        If `name` is unknown, or a file is found whose content was altered.

    Notes
    -----
    Places, in order: the folder in the environment variable ``PDPBOOK_DATA``, pooch's cache, the
    public address (a few seconds at most). If all fail and ``PDPBOOK_STAND_IN`` is ``1``, the
    table is replaced by one of the same columns, types and size that was invented here, one
    printed line says so, and no number from it means anything.

    The parser of the raw Druglib reviews is not part of the package: only the table of numbers is
    read, from ``PDPBOOK_DATA``.

    Examples
    --------
    >>> load("diabetes").shape
    (442, 11)
    """
    check_choice(name, "name", NAMES)
    if name == "diabetes":
        return _labelled(_load_diabetes(), name)
    source = SOURCES[name]
    if folder := os.environ.get("PDPBOOK_DATA"):
        path = Path(folder) / source.file
        if path.is_file():
            return _labelled(_verified(path.read_bytes(), source, str(path)), name)
    if source.url is not None:
        path = _cache() / source.file
        if path.is_file():
            return _labelled(_verified(path.read_bytes(), source, str(path)), name)
        if (content := _download(source.url, source)) is not None:
            frame = _verified(content, source, source.url)  # altered content is never cached
            _keep(path, content)
            return _labelled(frame, name)
    if os.environ.get("PDPBOOK_STAND_IN") == "1":
        print(f"STAND-IN DATA: {name} was generated; its numbers mean nothing")
        return _labelled(stand_in(name).astype(source.types), name, stand_in=True)
    address = source.url or "no public address"
    raise FileNotFoundError(
        f"{name} needs {source.file} ({address}; canonical sha256 {source.checksum}), which is "
        f"not at hand. Put the file in a folder and name that folder in the environment variable "
        f"PDPBOOK_DATA. {source.advice}".strip()
    )


def canonical_checksum(frame: pd.DataFrame) -> str:
    """sha256 of a table written with a header, comma separated, shortest floats, LF line ends.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns and types as `load` returns them.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return hashlib.sha256(_canonical_text(frame)).hexdigest()


def _labelled(frame: pd.DataFrame, name: str, *, stand_in: bool = False) -> pd.DataFrame:
    frame.attrs.update(name=name, stand_in=stand_in)
    return frame


def _load_diabetes() -> pd.DataFrame:
    from sklearn.datasets import load_diabetes

    frame: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
    return frame.astype(np.float64)


def _pooch() -> Any:
    """Import pooch, which in a notebook warns that it has no progress bar to show."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        import pooch
    return pooch


def _cache() -> Path:
    return Path(_pooch().os_cache("pdpbook"))


def _download(url: str, source: Source) -> bytes | None:
    """Content of the file at its public address, or None, quickly and silently."""
    downloader = _pooch().HTTPDownloader(timeout=TIMEOUT)
    try:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "download"
            downloader(url, str(target), None)
            content = target.read_bytes()
    except OSError:  # all of requests' failures are
        return None
    if not source.archived:
        return content
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return archive.read(source.file)
    except (zipfile.BadZipFile, KeyError):
        return b""  # something answered, but not with the archive


def _keep(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:  # a cache that cannot be written is no cache, and no error
        pass


def _verified(content: bytes, source: Source, where: str) -> pd.DataFrame:
    """Parse and compare with the canonical checksum."""
    found = "none: it cannot be read as that table"
    try:
        frame = _parse(content, source)
        found = canonical_checksum(frame)
    except (ValueError, KeyError):
        frame = pd.DataFrame()
    if found != source.checksum:
        raise ValueError(
            f"{source.file} must have the canonical sha256 {source.checksum}; got {found}, from "
            f"{where}. The content was altered: replace the file by the original"
        )
    return frame


def _parse(content: bytes, source: Source) -> pd.DataFrame:
    options = source.options()
    frame: pd.DataFrame = pd.read_csv(
        BytesIO(content),
        names=list(source.types),
        dtype=source.types,
        na_values=["?"],
        keep_default_na=False,
        encoding="utf-8",
        **{"header": 0, **options},
    )
    return frame


def _canonical_text(frame: pd.DataFrame) -> bytes:
    return str(frame.to_csv(index=False, lineterminator="\n")).encode()
