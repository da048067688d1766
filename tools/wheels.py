"""Build the wheels of a release into dist/ and check them: one for each Python and processor.

    tools/wheels.py [3.12 ...] [aarch64 ...]    all, or only of these Pythons and processors

One interpreter builds for all: an extension module needs the headers of its Python, none of its libraries.
The package `ziglang` has a C++ compiler for any processor and any version of glibc. Headers are those of
`python3.N`, if there is one, or of Debian or Ubuntu. They are for x86-64 and serve aarch64 too: pyconfig.h
differs only in what the source of CPython itself asks.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

GLIBC = "2.28"
PROCESSORS = ("x86_64", "aarch64")
# The release of Debian or Ubuntu that has it. Debian's apt knows no keys of Ubuntu: a package, which does not
# change once a release is out, has this sum.
PYTHONS = {
    "3.10": ("jammy", "89246f12cdfb1fac7675bc94d5cc8b9c72320f152e855197668305c73c8588ec"),
    "3.11": ("bookworm", None),
    "3.12": ("noble", "f5924a06298ae0689128498276d3a555e02615a4ecfa8f4417d679a097586f35"),
    "3.13": ("trixie", None),
    "3.14": ("forky", None),
}
LARGEST = 10_000_000  # bytes of a wheel
ROOT = Path(__file__).resolve().parents[1]
BUILD, DIST = ROOT / "build" / "wheels", ROOT / "dist"

# zig spells the levels of x86-64 with underscores. CMake adds the headers of the Python that builds. What
# does not ask for any is compiled once for all Pythons: zig keeps what it compiled.
COMPILER = """#!/bin/sh
for argument; do
    shift
    case $argument in
        -march=x86-64-*) argument=-march=x86_64_${{argument##*-}} ;;
        *"{own_headers}") argument=${{argument%"{own_headers}"}}{headers} ;;
    esac
    set -- "$@" "$argument"
done
exec "{python}" -m ziglang c++ -target {processor}-linux-gnu.{glibc} "$@"
"""
OTHER_TOOL = """#!/bin/sh
exec "{python}" -m ziglang {name} "$@"
"""


def run(*command: object, **environment: str) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(part) for part in command], env={**os.environ, **environment}, check=True, cwd=ROOT)


def interpreter(version: str) -> str | None:
    """Return Python of a version, if this machine has it."""
    found = shutil.which(f"python{version}")
    return found if found and subprocess.run([found, "-V"], capture_output=True).returncode == 0 else None


def headers(version: str) -> Path:
    """Return the folder with Python.h of a version of Python."""
    if python := interpreter(version):
        tell = "import sysconfig; print(sysconfig.get_path('include'))"
        asked = subprocess.run([python, "-c", tell], capture_output=True, text=True, check=True)
        found = Path(asked.stdout.strip())
        if found.joinpath("Python.h").exists():
            return found
    return headers_of_package(version)


def headers_of_package(version: str) -> Path:
    """Return the headers in the package of Debian or Ubuntu, which apt fetches without root."""
    folder = BUILD / f"python{version}"
    found = folder / "usr" / "include" / f"python{version}"
    if found.exists():
        return found
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    release, checksum = PYTHONS[version]
    source = f"deb [trusted=yes] {mirror_of_ubuntu()}" if checksum else f"deb {mirror_of_debian()}"
    (folder / "sources.list").write_text(f"{source} {release} main\n")
    places = {"Etc::SourceList": folder / "sources.list", "Etc::SourceParts": "-"}
    places |= {"State::Lists": folder / "lists", "Cache": folder}
    apt = ["apt-get", "-qq", "-oAPT::Architecture=amd64", "-oAPT::Sandbox::User=root"]
    apt += [f"-oDir::{name}={place}" for name, place in places.items()]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", f"libpython{version}-dev"], check=True, cwd=folder)
    package = next(folder.glob("*.deb"))
    if checksum and hashlib.sha256(package.read_bytes()).hexdigest() != checksum:
        sys.exit(f"{package} is not what it was: its SHA-256 is not {checksum}")
    run("dpkg", "-x", package, folder)
    # In the place of one that asks which processor it is.
    shutil.copy(next(folder.glob(f"usr/include/*-linux-gnu/python{version}/pyconfig.h")), found)
    return found


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


def build(version: str, processor: str) -> Path:
    """Return a wheel of this checkout."""
    folder = BUILD / f"{version}-{processor}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    values = {"python": sys.executable, "processor": processor, "glibc": GLIBC}
    values |= {"own_headers": sysconfig.get_path("include"), "headers": headers(version)}
    for name, script in {"c++": COMPILER, "ar": OTHER_TOOL, "ranlib": OTHER_TOOL}.items():
        (folder / name).write_text(script.format(name=name, **values))
        (folder / name).chmod(0o755)
    settings = {
        "build-dir": folder / "cmake",
        "install.strip": "false",  # the linker strips
        "cmake.define.CMAKE_SYSTEM_NAME": "Linux",
        "cmake.define.CMAKE_SYSTEM_PROCESSOR": processor,
        "cmake.define.CMAKE_CXX_COMPILER": folder / "c++",
        "cmake.define.CMAKE_AR": folder / "ar",
        "cmake.define.CMAKE_RANLIB": folder / "ranlib",
    }
    number = version.replace(".", "")
    run(
        *(sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation", "--outdir", folder),
        *(f"--config-setting={name}={value}" for name, value in settings.items()),
        SETUPTOOLS_EXT_SUFFIX=f".cpython-{number}-{processor}-linux-gnu.so",
    )
    tags = (f"--python-tag=cp{number}", f"--abi-tag=cp{number}", f"--platform-tag=linux_{processor}")
    run(sys.executable, "-m", "wheel", "tags", *tags, "--remove", next(folder.glob("*.whl")))
    return next(folder.glob("*.whl"))


def release(version: str, processor: str) -> None:
    """Put a wheel into dist/ that auditwheel finds to run with this glibc and all newer ones."""
    wheel = build(version, processor)
    audit = [sys.executable, "-m", "auditwheel", "show", wheel]
    said = subprocess.run(audit, capture_output=True, text=True, check=True).stdout
    print(said, flush=True)
    found = re.search(rf'platform tag: "manylinux_(\d+)_(\d+)_{processor}"', " ".join(said.split()))
    if found is None or [int(number) for number in found.groups()] > [int(n) for n in GLIBC.split(".")]:
        sys.exit(f"{wheel.name} does not run with glibc {GLIBC}")
    tag = f"--platform-tag=manylinux_{GLIBC.replace('.', '_')}_{processor}"
    run(sys.executable, "-m", "wheel", "tags", tag, "--remove", wheel)
    if processor == platform.machine() and (python := interpreter(version)):
        with zipfile.ZipFile(next(wheel.parent.glob("*.whl"))) as content:
            content.extractall(wheel.parent / "content")
        run(python, "-c", "import bayespa._native", PYTHONPATH=str(wheel.parent / "content"))
    DIST.mkdir(exist_ok=True)
    done = Path(shutil.copy(next(wheel.parent.glob("*.whl")), DIST))
    size = done.stat().st_size
    print(f"{done.name}: {size:,} bytes", flush=True)
    if size > LARGEST:
        sys.exit(f"{done.name} has more than {LARGEST:,} bytes")


if __name__ == "__main__":
    wanted = sys.argv[1:] or [*PYTHONS, *PROCESSORS]
    if unknown := set(wanted) - {*PYTHONS, *PROCESSORS}:
        sys.exit(f"{', '.join(sorted(unknown))}: not one of {', '.join([*PYTHONS, *PROCESSORS])}")
    for processor in [name for name in PROCESSORS if name in wanted] or PROCESSORS:
        for version in [name for name in PYTHONS if name in wanted] or PYTHONS:
            release(version, processor)
