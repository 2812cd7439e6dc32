"""Run with: python3 -m unittest discover -s tests (in this directory's parent)."""

from __future__ import annotations

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import holdfast


class HoldfastTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def environment(self, **variables: str) -> None:
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)


class TestWithoutASupervisor(HoldfastTest):
    def test_everything_does_nothing(self) -> None:
        for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
            self.fail(f"{name} is set")
        self.assertIsNone(holdfast.restart())
        holdfast.progress()
        with holdfast.checkpoint():
            pass


class TestRestart(HoldfastTest):
    def test_it_is_what_the_supervisor_sets(self) -> None:
        self.environment(HOLDFAST_RESTART_EPOCH="3", HOLDFAST_RESTART_ROUND="7", HOLDFAST_RENDEZVOUS_ID="uid-3-7")
        self.assertEqual(holdfast.restart(), holdfast.Restart(3, 7, "uid-3-7"))


class TestProgress(HoldfastTest):
    def test_each_call_changes_the_file(self) -> None:
        file = self.directory / "progress"
        self.environment(HOLDFAST_PROGRESS_FILE=str(file))
        holdfast.progress()
        os.utime(file, ns=(0, 0))
        holdfast.progress()
        self.assertGreater(file.stat().st_mtime_ns, 0)


class TestCheckpoint(HoldfastTest):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.directory / "checkpoint"
        self.environment(HOLDFAST_CHECKPOINT_FILE=str(self.file))

    def test_the_file_exists_while_it_is_written(self) -> None:
        with holdfast.checkpoint():
            self.assertTrue(self.file.exists())
        self.assertFalse(self.file.exists())

    def test_an_error_releases_it(self) -> None:
        with self.assertRaises(ZeroDivisionError), holdfast.checkpoint():
            1 / 0  # noqa: B018
        self.assertFalse(self.file.exists())

    def test_the_last_of_several_releases_it(self) -> None:
        with holdfast.checkpoint():
            with holdfast.checkpoint():
                pass
            self.assertTrue(self.file.exists())
        self.assertFalse(self.file.exists())

    def other(self) -> subprocess.Popen[str]:
        """Starts another process that delays a restart until its standard input ends."""
        program = "import holdfast, sys\nwith holdfast.checkpoint():\n    print('held', flush=True)\n    sys.stdin.read()"
        p = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(p.communicate)
        assert p.stdout is not None
        self.assertEqual(p.stdout.readline(), "held\n")
        return p

    def test_it_is_held_until_the_last_process_leaves(self) -> None:
        other = self.other()
        with holdfast.checkpoint():
            pass
        self.assertTrue(self.file.exists())
        other.communicate()
        self.assertFalse(self.file.exists())

    def test_a_killed_process_does_not_hold_it_for_ever(self) -> None:
        other = self.other()
        other.kill()
        other.wait()
        with holdfast.checkpoint():
            pass
        self.assertFalse(self.file.exists())

    def test_a_fork_in_another_thread_does_not_keep_the_lock(self) -> None:
        """A child inherits the open lock file, and keeps it open for as long as it runs."""
        lock, children = fcntl.flock, []

        def lock_and_fork(file: object, operation: int) -> None:
            lock(file, operation)  # type: ignore[arg-type]
            if operation == fcntl.LOCK_EX and not children:
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(0)
                children.append(child)

        def hold() -> None:
            with holdfast.checkpoint():
                pass

        thread = threading.Thread(target=hold, daemon=True)
        with mock.patch("fcntl.flock", lock_and_fork):
            thread.start()
            thread.join(5)
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
        self.assertFalse(thread.is_alive())


if __name__ == "__main__":
    unittest.main()
