"""Build the wheels of a release into dist/ and check them: one for each Python and processor.

    tools/wheels.py [3.12 ...] [aarch64 ...]    all, or only of these Pythons and processors

One interpreter builds for all: an extension module needs the headers of its Python, none of its libraries.
The package `ziglang` has a C++ compiler for any processor and any version of glibc. A wheel for the processor
of this machine is installed and used with its Python; `make aarch64` runs one of the others under emulation.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

from pythons import PYTHONS, headers, interpreter

GLIBC = "2.28"
PROCESSORS = ("x86_64", "aarch64")
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
    DIST.mkdir(exist_ok=True)
    done = Path(shutil.copy(next(wheel.parent.glob("*.whl")), DIST))
    size = done.stat().st_size
    print(f"{done.name}: {size:,} bytes", flush=True)
    if size > LARGEST:
        sys.exit(f"{done.name} has more than {LARGEST:,} bytes")
    if processor == platform.machine():
        if python := interpreter(version):
            use(done, python)
        else:
            print(f"{done.name} is not used: this machine has no Python {version}")


def use(wheel: Path, python: Path) -> None:
    """Use a wheel in an empty environment: it learns the bits of this checkout with every instruction set."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "environment")
        run(python, "-m", "venv", "--without-pip", environment)
        own = environment / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--python", own, "install")
        run(*pip, "--no-compile", "--only-binary", ":all:", wheel)
        run(own, ROOT / "tools" / "smoke_test.py")
        run(environment / "bin" / "bayespa", "demo", "--quick", "--output", folder)
        print_isas = "from bayespa import _native; print(*_native.available_isas())"
        isas = subprocess.run(
            [own, "-c", print_isas], capture_output=True, text=True, check=True
        ).stdout.split()
        for isa in isas:
            differ = [name for name, value in hashes(own, isa).items() if value != hashes_of_checkout()[name]]
            if differ:
                sys.exit(f"{wheel.name} with BAYESPA_ISA={isa} has other bits than this checkout: {differ}")
        n = len(hashes_of_checkout())
        print(f"{wheel.name}: installed, used; {n} hashes are those of this checkout with {', '.join(isas)}")


def hashes(python: Path, isa: str = "") -> dict[str, str]:
    """Return the hashes of what models learn, say, save and print."""
    script = ROOT / "tests" / "golden" / "hashes.py"
    environment = {**os.environ, "BAYESPA_ISA": isa} if isa else None
    said = subprocess.run([python, script], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(said.stdout)


@lru_cache(maxsize=1)
def hashes_of_checkout() -> dict[str, str]:
    """Return those of the interpreter that runs this."""
    return hashes(Path(sys.executable))


if __name__ == "__main__":
    wanted = sys.argv[1:] or [*PYTHONS, *PROCESSORS]
    if unknown := set(wanted) - {*PYTHONS, *PROCESSORS}:
        sys.exit(f"{', '.join(sorted(unknown))}: not one of {', '.join([*PYTHONS, *PROCESSORS])}")
    for processor in [name for name in PROCESSORS if name in wanted] or PROCESSORS:
        for version in [name for name in PYTHONS if name in wanted] or PYTHONS:
            release(version, processor)
