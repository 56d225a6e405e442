from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from regnas.errors import Interrupted
from regnas.runtime.signals import postponed_interrupt, postponed_signals, stop_if_asked


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_for_a_safe_place_and_is_a_keyboard_interrupt():
    reached = []
    with pytest.raises(KeyboardInterrupt, match="everything up to here is kept"), postponed_interrupt():
        interrupt()
        reached.append("after the signal")
        stop_if_asked()
        reached.append("after the safe place")
    assert reached == ["after the signal"]
    stop_if_asked()  # nothing is left of it


def test_a_second_interrupt_does_not_wait_and_does_not_end_the_process():
    with pytest.raises(KeyboardInterrupt), postponed_interrupt():
        interrupt()
        interrupt()
        raise AssertionError("the second interrupt did not come through")


def test_an_interrupt_that_the_process_ignores_stays_ignored_and_sigterm_works():
    """As for `nohup regnas run ...` and for commands in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(Interrupted) as error, postponed_signals(), postponed_interrupt():
            interrupt()
            stop_if_asked()
            os.kill(os.getpid(), signal.SIGTERM)
            stop_if_asked()
        assert error.value.exit_code == 143
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_are_the_callers_again_after_the_block():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with postponed_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before[signal.SIGINT]
        assert signal.getsignal(signal.SIGTERM) is before[signal.SIGTERM]
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_callers_own_handler_stays():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with postponed_interrupt():
            interrupt()
            stop_if_asked()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_inside_a_command_the_interrupt_is_the_commands():
    with postponed_signals(), pytest.raises(Interrupted) as error, postponed_interrupt():
        interrupt()
        stop_if_asked()
    assert error.value.exit_code == 130


def test_other_threads_leave_the_handlers_alone():
    found = []

    def work():
        with postponed_interrupt():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def program(text, *arguments):
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True, check=False
    )


WRITING = """
import os, signal, sys
from pathlib import Path
from regnas.runtime.files import write_through
from regnas.runtime.signals import postponed_signals, quit_on_signals

def write(temporary):
    temporary.write_text("a part")
    for _ in range(int(sys.argv[2])):
        os.kill(os.getpid(), signal.SIGTERM)
    temporary.write_text("everything")

quit_on_signals()
if int(sys.argv[2]) > 1:
    with postponed_signals():
        write_through(Path(sys.argv[1]), write)
write_through(Path(sys.argv[1]), write)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_command_that_does_not_wait_leaves_no_temporary_file(tmp_path, times):
    """At the first signal if nothing is postponed, else at the second."""
    ended = program(WRITING, tmp_path / "result", times)
    assert (ended.returncode, ended.stderr) == (143, "regnas: interrupted by SIGTERM\n")
    assert list(tmp_path.iterdir()) == []


IMPORTING = """
import os, signal, sys
module = sys.argv[1]

def interrupt(event, arguments):
    if event == "import" and arguments[0] == module:
        os.kill(os.getpid(), signal.SIGINT)

from regnas.__main__ import main
sys.addaudithook(interrupt)
sys.argv = ["regnas", "compare", "a", "b"]
main()
"""


@pytest.mark.parametrize("module", ["typer", "numpy", "rich.table"])
def test_a_command_that_is_interrupted_while_it_imports_ends_as_documented(module):
    ended = program(IMPORTING, module)
    assert (ended.returncode, ended.stderr) == (130, "regnas: interrupted by SIGINT\n")


DONE = """
import os, signal, sys
from regnas.runtime.signals import quit_on_signals

class TornDown:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

quit_on_signals()
quit_on_signals(6)
if sys.argv[1] == "now":
    os.kill(os.getpid(), signal.SIGTERM)
elif sys.argv[1] == "later":
    kept = TornDown()
sys.exit(6)
"""


@pytest.mark.parametrize("moment", ["now", "later"])
def test_a_signal_changes_nothing_about_a_command_that_is_done(moment):
    """Also after Python has given up the handlers of signals, while it removes its modules."""
    ended = program(DONE, moment)
    assert (ended.returncode, ended.stderr) == (6, "")


SAYING = """
import os, signal, sys

class Interrupting:
    def __getattr__(self, name):
        return getattr(sys.__stderr__, name)
    def write(self, text):
        written = sys.__stderr__.write(text)
        if text.startswith("regnas: "):
            os.kill(os.getpid(), signal.SIGTERM)
        return written

sys.stderr = Interrupting()
from regnas.__main__ import main
sys.argv = ["regnas", "compare", "a", "b"]
main()
"""


def test_a_signal_adds_nothing_to_the_last_line_of_a_command():
    ended = program(SAYING)
    assert ended.returncode == 3
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
