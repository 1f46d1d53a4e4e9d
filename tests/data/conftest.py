"""The real data sets where they are at hand, laid out as a download lays them out."""

import subprocess
import sys
from pathlib import Path

import pytest

REAL = Path(__file__).parents[3] / "shared" / "data"


def lay_out(folder: Path, *names: str) -> Path:
    if not (REAL / "unpack.py").is_file():
        pytest.skip("needs the real data sets")
    subprocess.run([sys.executable, REAL / "unpack.py", folder, *names], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("real"), "fashion-mnist", "tinyshakespeare", "sst2")


@pytest.fixture(autouse=True)
def _no_folders_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user has in cache and environment must not decide a test."""
    monkeypatch.delenv("REGARD_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
