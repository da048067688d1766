"""Model files: nothing lost, nothing torn, whatever fails and whoever else writes."""

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import bayespa
from bayespa.text import files

GOLDEN = Path(__file__).parent / "golden"
ARRAYS = {"a": np.arange(3000.0)}


def python(program, *args, **options):
    """Start a program that has files, os, sys and np; other modules would take seconds to import."""
    head = f"""
import importlib.util, os, sys, numpy as np
spec = importlib.util.spec_from_file_location("files", {files.__file__!r})
files = importlib.util.module_from_spec(spec)
sys.modules["files"] = files
spec.loader.exec_module(files)
"""
    return subprocess.Popen(
        [sys.executable, "-c", head + program, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def ended(process, said=""):
    out, err = process.communicate(said)
    assert process.returncode == 0, err
    return out


def names(path):
    return sorted(os.listdir(path.parent))


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    files.write(folder / "m", "old", {"b": np.ones(2)})
    return folder / "m"


class TestWriting:
    @pytest.mark.parametrize("name", [".m.part", ".m.lock"])
    def test_links_of_others_are_not_followed(self, path, name):
        mine = path.parent.parent / "precious"
        mine.write_text("mine")
        (path.parent / name).symlink_to(mine)
        files.write(path, "new", {})
        assert files.read(path)[0] == "new"
        assert mine.read_text() == "mine"
        if name == ".m.lock":
            with pytest.raises(OSError, match=r"cannot lock the model.*\.m\.lock"), files.locked(path):
                pass
            assert mine.read_text() == "mine"

    def test_a_link_at_the_very_name_is_not_followed(self, path, monkeypatch):
        mine = path.parent.parent / "precious"
        mine.write_text("mine")
        monkeypatch.setattr(files.secrets, "token_hex", lambda n: "0" * 2 * n)
        part = path.parent / f".m.{'0' * 32}.part"
        part.symlink_to(mine)
        with pytest.raises(FileExistsError, match=r"is unchanged: '.*/m'"):
            files.write(path, "new", {})
        assert mine.read_text() == "mine"
        assert part.is_symlink()
        assert files.read(path)[0] == "old"

    def test_remains_of_killed_processes_are_removed_and_nothing_else(self, path):
        program = """
os.fsync = lambda descriptor: (print("there", flush=True), sys.stdin.readline())
files.write(sys.argv[1], "new", {"a": np.zeros(1000)})
"""
        dead, alive = python(program, path), python(program, path)
        for process in (dead, alive):
            assert process.stdout.readline() == "there\n"
        os.kill(dead.pid, signal.SIGKILL)
        dead.communicate()
        others = [f".m.{'1' * 32}.part", f".n.{'0' * 32}.part", ".m.part", f".m.{'0' * 31}.part", ".m2.part"]
        (path.parent / others[0]).symlink_to(path)
        for other in others[1:]:
            (path.parent / other).write_text("not ours")
        assert len(names(path)) == 3 + len(others)
        files.write(path, "newer", {})
        assert len(names(path)) == 2 + len(others)
        ended(alive, "go on\n" * 9)
        assert names(path) == sorted([*others, "m"])
        assert files.read(path)[0] == "new"

    def test_permissions_stay(self, path):
        new = path.with_name("new")
        old = os.umask(0o027)
        try:
            files.write(new, 1, {})
        finally:
            os.umask(old)
        assert stat.S_IMODE(new.stat().st_mode) == 0o640
        for mode in (0o600, 0o664, 0o444):
            path.chmod(mode)
            files.write(path, "new", {})
            assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_permissions_are_not_wider_while_it_is_written(self, path, monkeypatch):
        path.chmod(0o600)
        modes, write = [], os.write

        def watched(descriptor, data):
            modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", watched)
        files.write(path, "new", ARRAYS)
        assert set(modes) == {0o600}

    def test_a_write_that_takes_little_at_a_time(self, path, monkeypatch):
        write = os.write
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:999]))
        files.write(path, "new", ARRAYS)
        np.testing.assert_array_equal(files.read(path)[1]["a"], ARRAYS["a"])

    def test_names_as_long_as_they_may_be(self, tmp_path):
        path = tmp_path / ("é" * 127)
        with files.locked(path):
            files.write(path, "new", {})
        assert files.read(path)[0] == "new"
        assert os.listdir(tmp_path) == [path.name]

    def test_full_disk(self, path):
        """A process that may write 4 kB only: what it cannot finish leaves the old file."""
        program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    files.write(sys.argv[1], "new", {"a": np.zeros(10_000)})
except OSError as error:
    print(error)
"""
        said = ended(python(program, path))
        assert f"File too large: the model was not saved, and an existing file is unchanged: '{path}'" in said
        assert files.read(path)[0] == "old"
        assert names(path) == ["m"]

    def test_a_folder_that_may_not_be_written_to(self):
        program = """
if os.getuid() == 0:  # who may do anything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for work in (lambda: files.write(sys.argv[1], "new", {}), lambda: files.locked(sys.argv[1]).__enter__()):
    try:
        work()
    except PermissionError as error:
        print(error)
print(files.read(sys.argv[1])[0])
"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m")
            files.write(path, "old", {})
            path.parent.chmod(0o555)
            saved, locked, read = ended(python(program, path)).splitlines()
            assert names(path) == ["m"]
            path.parent.chmod(0o755)
        assert f"denied: the model was not saved, and an existing file is unchanged: '{path}'" in saved
        assert f"denied: cannot lock the model, for which {folder}/.m.lock is to be made" in locked
        assert f"'{path}'" in locked
        assert read == "old"

    CALLS = ("open", "write", "fsync", "replace", "fchmod", "fchown", "fstat", "listdir", "close", "flock")

    @pytest.mark.parametrize("name", CALLS)
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR])
    def test_every_call_may_fail(self, path, monkeypatch, name, number):
        """Whichever of its calls of the system fails, and how, there is the old file or the new one."""
        module = files.fcntl if name == "flock" else os
        call = getattr(module, name)
        (path.parent / f".m.{'1' * 32}.part").write_text("remains")
        for failing in range(20):
            n = [0]

            def fails(*args, n=n, failing=failing, **options):
                n[0] += 1
                if n[0] == failing + 1:
                    raise OSError(number, os.strerror(number))
                return call(*args, **options)

            with monkeypatch.context() as patch:
                patch.setattr(module, name, fails)
                said = None
                try:
                    files.write(path, failing, ARRAYS)
                except OSError as error:
                    said = error
            found = files.read(path)[0]
            assert found in (failing, failing - 1, "old")
            if said is None:
                assert found == failing
            elif name != "close" and "was not saved" in str(said):
                assert found != failing
                assert said.errno == number
                assert said.filename == os.fspath(path)
            assert set(names(path)) <= {"m", f".m.{'1' * 32}.part"}
            if n[0] <= failing:
                break
        assert n[0] <= failing
        assert names(path) == ["m"]

    @pytest.mark.filterwarnings("ignore")  # of a file that is closed when nobody has it any more
    def test_an_exception_at_every_line(self, path):
        """Whatever line an interrupt hits, there is the old file or the new one, and nothing else."""

        class Stop(BaseException):
            pass

        hit, found = 0, "old"
        while True:
            lines = [0]

            def trace(frame, event, argument, lines=lines, hit=hit):
                if frame.f_code.co_filename != files.__file__:
                    return None
                lines[0] += 1
                if lines[0] == hit + 1:
                    sys.settrace(None)
                    raise Stop
                return trace

            before = sys.gettrace()
            sys.settrace(trace)
            try:
                files.write(path, hit, ARRAYS)
            except Stop:
                pass
            finally:
                sys.settrace(before)
            now = files.read(path)[0]
            assert now in (found, hit)
            found = now
            assert names(path) == ["m"]
            if lines[0] <= hit:
                break
            hit += 1
        assert hit > 100
        assert found == hit

    @pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
    def test_killed_at_any_call(self, path, fails):
        program = f"""
call, n = os.{fails}, int(sys.argv[2])
def kill(*args):
    global n
    n -= 1
    if n < 0:
        os.kill(os.getpid(), 9)
    return call(*args)
os.{fails} = kill
files.write(sys.argv[1], "new", {{"a": np.zeros(9)}})
"""
        for n in range(3):
            python(program, path, n).communicate()
            assert files.read(path)[0] in ("old", "new")
        files.write(path, "newer", {})
        assert names(path) == ["m"]

    def test_many_who_save_one_path_at_once(self, path):
        """All write whole files, nobody fails, one of the last wins; who reads meanwhile sees whole files."""
        program = """
for i in range(60):
    files.write(sys.argv[1], [int(sys.argv[2]), i], {"a": np.full(2000, float(sys.argv[2]))})
"""
        writers = [python(program, path, number) for number in range(3)]
        while any(writer.poll() is None for writer in writers):
            state, arrays = files.read(path)
            assert state == "old" or set(arrays["a"]) == {float(state[0])}
        for writer in writers:
            ended(writer)
        assert files.read(path)[0][1] == 59
        assert names(path) == ["m"]


class TestLocking:
    def test_nobody_loses_an_update(self, path):
        program = """
for _ in range(40):
    with files.locked(sys.argv[1]):
        state, arrays = files.read(sys.argv[1])
        files.write(sys.argv[1], state + 1, arrays)
"""
        files.write(path, 0, {})
        for process in [python(program, path) for _ in range(3)]:
            ended(process)
        assert files.read(path)[0] == 120
        assert names(path) == ["m"]

    def test_threads_wait_for_each_other(self, path):
        files.write(path, 0, {})

        def add():
            for _ in range(20):
                with files.locked(path):
                    files.write(path, files.read(path)[0] + 1, {})

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert files.read(path)[0] == 80

    HOLD = "with files.locked(sys.argv[1]):\n print('held', flush=True)\n sys.stdin.readline()"

    def test_who_does_not_wait_is_told_who_has_it(self, path):
        link = path.parent.parent / "link"
        link.symlink_to(path)
        holder = python(self.HOLD, link)
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError) as told, files.locked(path, wait=False):
            pass
        said = str(told.value)
        assert f"process {holder.pid} on {os.uname().nodename} (since 20" in said
        assert "import importlib.util" in said  # its command
        assert "is updating this model; wait until it is done" in said
        assert str(path) in said
        files.write(path, "new", {})  # who does not ask is not held up
        ended(holder, "end\n")
        with files.locked(path, wait=False):
            assert names(path) == [".m.lock", "m"]
        assert names(path) == ["m"]

    def test_a_killed_process_holds_nothing(self, path):
        holder = python(self.HOLD, path)
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        holder.communicate()
        assert names(path) == [".m.lock", "m"]
        with files.locked(path, wait=False):
            signed = (path.parent / ".m.lock").read_text()
            assert signed.startswith(f"process {os.getpid()} on ")
        assert names(path) == ["m"]

    def test_who_waits_gets_it_when_the_block_ends(self, path):
        holder = python(self.HOLD, path)
        assert holder.stdout.readline() == "held\n"
        waiter = python("print('waits', flush=True)\n" + self.HOLD, path)
        assert waiter.stdout.readline() == "waits\n"
        assert holder.poll() is None
        ended(holder, "end\n")
        assert waiter.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError, match=f"process {waiter.pid} "), files.locked(path, wait=False):
            pass
        ended(waiter, "end\n")

    def test_a_block_that_fails_ends_the_lock(self, path):
        with pytest.raises(KeyError), files.locked(path):
            raise KeyError
        with files.locked(path, wait=False):
            pass

    def test_a_signature_that_is_none(self, path):
        holder = python(self.HOLD, path)
        assert holder.stdout.readline() == "held\n"
        for signature, shown in (
            (b"", "another process is"),
            (b"\x1b[31m\xff\n", "?[31m\N{REPLACEMENT CHARACTER}? is"),
        ):
            (path.parent / ".m.lock").write_bytes(signature)
            with pytest.raises(BlockingIOError) as told, files.locked(path, wait=False):
                pass
            assert shown in str(told.value)
        ended(holder, "end\n")

    def test_a_model_that_is_not_there_yet(self, tmp_path):
        with files.locked(tmp_path / "m"):
            files.write(tmp_path / "m", 1, {})
        assert os.listdir(tmp_path) == ["m"]
        with (
            pytest.raises(FileNotFoundError, match="cannot lock the model"),
            files.locked(tmp_path / "no" / "m"),
        ):
            pass


class TestReading:
    @pytest.mark.parametrize("name", ["v3-medlda-class", "v1-medhdp-class", "v3-linear-class"])
    def test_a_file_that_is_overwritten_does_not_change_a_model(self, tmp_path, name):
        path, texts = tmp_path / "m", ["the cat and the mouse", "stars in space"]
        shutil.copy(GOLDEN / f"{name}.bayespa", path)
        model = bayespa.load(path)
        again = bayespa.load(path)
        before = model.predict_proba(texts)
        for content in (GOLDEN / "v1-medlda-number.bayespa").read_bytes(), b"", b"x" * 10_000:
            path.write_bytes(content)  # in place, as cp does
            np.testing.assert_array_equal(again.predict_proba(texts), before)
            np.testing.assert_array_equal(model.predict_proba(texts), before)

    def test_a_large_file_that_is_cut_ends_no_process(self, tmp_path):
        path = tmp_path / "m"
        files.write(path, 0, {"a": np.arange(1_000_000.0)})
        program = """
array = files.read(sys.argv[1])[1]["a"]
os.truncate(sys.argv[1], 0)
print(array.sum(), array.flags.writeable)
"""
        assert ended(python(program, path)) == f"{np.arange(1_000_000.0).sum()} False\n"

    def test_what_is_no_file_is_refused_at_once(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
            with pytest.raises(bayespa.ModelFileError, match="is not a file but a pipe or a device"):
                bayespa.load(path)
        with pytest.raises(IsADirectoryError):
            bayespa.load(tmp_path)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v1-*.bayespa")), ids=lambda path: path.stem)
def test_files_of_the_first_version_say_what_they_said(path):
    make = {"__file__": ""}
    exec((GOLDEN / "make.py").read_text(encoding="utf-8").split("if __name__")[0], make)
    expected = json.loads((GOLDEN / "v1.json").read_text(encoding="utf-8"))[path.stem]
    assert json.loads(json.dumps(make["said"](bayespa.load(path)))) == expected


@pytest.mark.parametrize(
    "model",
    [
        bayespa.OnlineLDA(3, batch_size=4, random_state=0),
        bayespa.OnlineHDP(max_topics=4, batch_size=4, random_state=0),
        bayespa.MedHDPClassifier(batch_size=4, random_state=0),
        bayespa.MedLDAClassifier(3, batch_size=4, random_state=0),
        bayespa.PassiveAggressiveClassifier(average=True),
        bayespa.BayesPAClassifier(batch_size=4),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loaded_model_goes_on_with_the_same_bits(model, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(2.0, (40, 12)).astype(float), np.arange(40) % 3
    rest = () if isinstance(model, bayespa.OnlineLDA | bayespa.OnlineHDP) else (y[20:],)
    first = model.fit(X[:20], *([y[:20]] if rest else []))
    bayespa.save(first, tmp_path / "a")
    loaded = bayespa.load(tmp_path / "a")
    for one, name in ((first, "b"), (loaded, "c")):
        bayespa.save(one.partial_fit(X[20:], *rest), tmp_path / name)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(
    "kind", [bayespa.BayesPAClassifier, bayespa.MedLDAClassifier, bayespa.PassiveAggressiveClassifier]
)
def test_what_is_saved_is_one_version_of_a_model_that_learns(kind, tmp_path, monkeypatch):
    """A save that another thread interrupts at every step writes what was published when it began."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(2.0, (400, 8)).astype(float), np.arange(400) % 3
    model = kind(random_state=0)
    model.partial_fit(X[:8], y[:8], classes=[0, 1, 2])
    after = [8]

    def learn():
        rows = slice(after[0], after[0] + 4)
        model.partial_fit(X[rows], y[rows])
        after[0] += 4

    def trace(frame, event, argument):
        if event == "call" and frame.f_code.co_name in ("_to_file", "to_arrays", "get_params", "_encode"):
            sys.settrace(None)
            thread = threading.Thread(target=learn)
            thread.start()
            thread.join()
            sys.settrace(trace)
        return None

    bayespa.save(model, tmp_path / "before")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        bayespa.save(model, tmp_path / "meanwhile")
    finally:
        sys.settrace(before)
    assert after[0] > 16
    assert (tmp_path / "meanwhile").read_bytes() == (tmp_path / "before").read_bytes()
    bayespa.save(model, tmp_path / "after")
    assert (tmp_path / "after").read_bytes() != (tmp_path / "before").read_bytes()
