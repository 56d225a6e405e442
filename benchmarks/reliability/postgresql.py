"""A real PostgreSQL server of one's own: on a socket, with a password, stopped and started at will."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

USER = "ann"
PASSWORD = "s3cret-Pa55"


@dataclass(frozen=True)
class Server:
    """A server whose files and socket are in a folder."""

    programs: Path
    folder: Path
    account: str  # under which the server runs; empty: this one

    def start(self) -> None:
        self._call("pg_ctl", "-w", "-o", f"-k {self.folder} -c listen_addresses='' -c fsync=off", "start")

    def stop(self) -> None:
        """Stop as a crash does: without waiting for anybody."""
        self._call("pg_ctl", "-m", "immediate", "stop")

    def create(self, name: str) -> None:
        """Make an empty database of this name, in place of any other."""
        with self.connect("postgres") as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name}")

    def connect(self, name: str):  # type: ignore[no-untyped-def]
        import psycopg

        return psycopg.connect(host=self.folder, user=USER, password=PASSWORD, dbname=name, autocommit=True)

    def address(self, name: str, password: str = PASSWORD) -> str:
        """Return the address for ``search.storage``; without a password, the client finds it in PGPASSWORD."""
        secret = f":{password}" if password else ""
        return f"postgresql://{USER}{secret}@/{name}?host={self.folder}"

    def _call(self, program: str, *arguments: str) -> None:
        # Not captured: the server would keep the pipe open.
        command = [self.programs / program, "-D", self.folder / "data", *arguments]
        account = {"user": self.account} if self.account else {}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd="/", **quiet, **account)  # type: ignore[call-overload]


def missing() -> str:
    """Say what a server needs and the machine lacks; empty if it lacks nothing."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return "" if _programs() else "PostgreSQL is not installed"


@contextmanager
def postgresql() -> Iterator[Server]:
    """Start a server in a temporary folder; the server refuses to run as root."""
    programs = _programs()
    assert programs is not None, missing()
    account = "postgres" if os.getuid() == 0 else ""
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        if account:
            owner = pwd.getpwnam(account).pw_uid
            for path in (folder, folder / "password"):
                os.chown(path, owner, -1)
        server = Server(programs, folder, account)
        server._call("initdb", "-U", USER, f"--pwfile={folder}/password", "--auth=scram-sha-256", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                server.stop()


def _programs() -> Path | None:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    found = str(installed[-1]) if installed else shutil.which("pg_ctl")
    return Path(found).parent if found else None
