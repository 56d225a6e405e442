"""A small search space whose trained supernets are published: the elastic ResNet under names of other authors."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from regnas.components.registry import Registry
from regnas.supernet import SUPERNETS, Published
from supernets.elastic_resnet import ElasticResNet

SHAPE = (1, 8, 8)


@dataclass(frozen=True)
class Lake(ElasticResNet):
    """Residual networks that were trained at the lake."""

    widths: tuple[tuple[int, ...], ...] = ((4, 6, 8), (8, 12, 16))
    depths: tuple[int, int] = (1, 2)
    stem_width: int = 4
    resolutions: tuple[int, ...] = (8,)

    address: ClassVar[str] = "http://lake.invalid"

    @property
    def published(self) -> tuple[Published, ...]:
        narrow, deep = {"name": "lake"}, {"name": "lake", "depths": [1, 3]}
        return (
            Published("lake_d12_w1.0", f"{self.address}/nets/lake_d12_w1.0", narrow, SHAPE, 3),
            Published("lake_d12_alpha", f"{self.address}/nets/lake_alpha.pth", narrow, SHAPE, 3),
            Published("lake_d13_w1.0", f"{self.address}/download?id=1cC&confirm=t", deep, SHAPE, 3),
        )

    def rename_tensors(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {f"largest.{name.removeprefix('net.')}": tensor for name, tensor in tensors.items()}


def table_of(**plugins: type) -> dict[str, Any]:
    """The state of a table of supernets that holds nothing but these."""
    return vars(Registry("supernet", "", plugins))


def install_lake(monkeypatch) -> None:
    """The only plug-in that can import, beside one that cannot."""
    monkeypatch.setattr(SUPERNETS, "__dict__", table_of(elastic_resnet=ElasticResNet, lake=Lake))


def empty_store(monkeypatch, home: Path) -> Path:
    """The folder of imported supernets of a user who has none yet."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return home / ".cache" / "regnas" / "supernets"


def trained(plugin: Lake | None = None, classes: int = 3, seed: int = 0) -> dict[str, Tensor]:
    """The state dict of a supernet, as its authors would save it; its statistics are unique."""
    torch.manual_seed(seed)
    state = (plugin or Lake()).supernet(SHAPE, classes).state_dict()
    for name, tensor in state.items():
        if "running" in name:
            tensor.uniform_(0.5, 1.5)
    return {name.replace("largest.", "net."): tensor for name, tensor in state.items()}


def deep() -> Lake:
    return replace(Lake(), depths=(1, 3))


@contextmanager
def server(files: Mapping[str, bytes]):
    """A web server on this machine with some files, and with paths that misbehave; yields its address."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rpartition("/")[2]
            if self.path.startswith("/moved/"):
                self.answer(302, {"Location": f"/nets/{name}"})
            elif name not in files:
                self.answer(404, {})
            elif self.path.startswith("/page/"):
                self.answer(200, {"Content-Type": "text/html; charset=utf-8"}, b"<html>log in</html>")
            elif self.path.startswith("/short/"):
                self.answer(200, {"Content-Length": str(len(files[name]))}, files[name][:-100])
            elif self.path.startswith("/stalled/"):
                self.answer(200, {"Content-Length": str(len(files[name]))}, files[name][:100])
                released.wait(30)
            elif self.path.startswith("/endless/"):
                self.answer(200, {}, files[name])
            else:
                self.answer(200, {"Content-Length": str(len(files[name]))}, files[name])

        def answer(self, code, headers, content=b""):
            self.send_response(code)
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, *arguments):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}"
    finally:
        released.set()
        running.shutdown()
        thread.join()
        running.server_close()
