"""Pythons that this machine may not have: interpreters to try a wheel with, headers to build one.

The interpreter of a version is the first that works of `python3.N` on the PATH, one of pyenv, and one of
Debian's packages, which are unpacked and run with their own C library; nothing is installed. The headers are
those of the interpreter, or of a package of Debian or Ubuntu. They are for x86-64 and serve aarch64 too:
pyconfig.h differs only in what the source of CPython itself asks.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

# The release of Debian or Ubuntu that has it. Debian's apt does not know the keys of Ubuntu. So the package
# of headers has to have this sum; it does not change once a release is out.
PYTHONS = {
    "3.10": ("jammy", "89246f12cdfb1fac7675bc94d5cc8b9c72320f152e855197668305c73c8588ec"),
    "3.11": ("bookworm", None),
    "3.12": ("noble", "f5924a06298ae0689128498276d3a555e02615a4ecfa8f4417d679a097586f35"),
    "3.13": ("trixie", None),
    "3.14": ("forky", None),
}
BUILD = Path(__file__).resolve().parents[1] / "build" / "pythons"
LIBRARIES = "usr/lib/x86_64-linux-gnu"

# --argv0: Python takes this script for itself, and so do environments that are made with it.
LAUNCHER = """#!/bin/sh
exec "{system}/{libraries}/ld-linux-x86-64.so.2" --library-path "{system}/{libraries}" --argv0 "$0" \\
    "{system}/usr/bin/python{version}" "$@"
"""


def interpreter(version: str) -> Path | None:
    """Return Python of a version for this processor, if this machine has it or Debian's packages do."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    names = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for found in filter(None, names):
        if subprocess.run([found, "-V"], capture_output=True).returncode == 0:  # a shim of pyenv may not work
            return Path(found)
    _, checksum = PYTHONS[version]
    if checksum or platform.machine() != "x86_64":  # a package of Ubuntu is for headers only
        return None
    system = packages(version, f"python{version}", "libstdc++6")
    launcher = system / "usr" / "bin" / "launcher"
    launcher.write_text(LAUNCHER.format(system=system, libraries=LIBRARIES, version=version))
    launcher.chmod(0o755)
    return launcher


def headers(version: str) -> Path:
    """Return the folder with Python.h of a version of Python."""
    if python := interpreter(version):
        tell = "import sysconfig; print(sysconfig.get_path('include'))"
        asked = subprocess.run([python, "-c", tell], capture_output=True, text=True, check=True)
        found = Path(asked.stdout.strip())
        if found.joinpath("Python.h").exists():
            return found
    system = packages(version, f"libpython{version}-dev", alone=True)
    found = system / "usr" / "include" / f"python{version}"
    # In the place of one that asks which processor it is.
    shutil.copy(next(system.glob(f"usr/include/*-linux-gnu/python{version}/pyconfig.h")), found)
    return found


def packages(version: str, *names: str, alone: bool = False) -> Path:
    """Return a folder with unpacked packages, and all that they depend on; apt fetches them without root."""
    folder = BUILD / names[0]
    if folder.joinpath("complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    release, checksum = PYTHONS[version]
    source = f"deb [trusted=yes] {mirror_of_ubuntu()}" if checksum else f"deb {mirror_of_debian()}"
    (folder / "sources.list").write_text(f"{source} {release} main\n")
    (folder / "status").touch()  # nothing is installed, so nothing is left out
    places = {"Etc::SourceList": folder / "sources.list", "Etc::SourceParts": "-", "Cache": folder}
    places |= {"State": folder, "State::Lists": folder / "lists", "State::status": folder / "status"}
    apt = ["apt-get", "-qq", "-oAPT::Architecture=amd64", "-oAPT::Sandbox::User=root", "-oDebug::NoLocking=1"]
    apt += [f"-oDir::{name}={place}" for name, place in places.items()]
    subprocess.run([*apt, "update"], check=True)
    how = ["download"] if alone else ["install", "--download-only", "--yes", "--no-install-recommends"]
    subprocess.run([*apt, *how, *names], check=True, cwd=folder / "archives")
    for package in (folder / "archives").glob("*.deb"):
        if checksum and hashlib.sha256(package.read_bytes()).hexdigest() != checksum:
            sys.exit(f"{package} is not what it was: its SHA-256 is not {checksum}")
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    folder.joinpath("complete").touch()
    return folder


def mirror_of_debian() -> str:
    """Return the mirror of Debian that this machine uses."""
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()[0]


def mirror_of_ubuntu() -> str:
    """Return the mirror of Ubuntu that debootstrap uses."""
    script = Path("/usr/share/debootstrap/scripts/jammy")
    if not script.exists():
        sys.exit("headers of Python 3.10 and 3.12 need debootstrap: sudo apt-get install debootstrap")
    return re.search(r"default_mirror (http://archive\S+)", script.read_text())[1]
