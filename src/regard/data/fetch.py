"""Where a set lies: in the folder that was named, in the user's cache, or at its official address."""

import os
from dataclasses import dataclass
from pathlib import Path

from regard.data.archives import extract
from regard.data.files import Known, advice, new_folder
from regard.errors import need

VARIABLE = "REGARD_DATA"


@dataclass(frozen=True)
class Published:
    """A set at its official address: what to download, and how its folder looks afterwards.

    Its `folder` holds these `files` and `folders`. Either the files lie at the address one by one, or an
    `archive` does, of which what is below `root` and matches `wanted` is taken. `instead` is the embedded set
    to use where there is no network.
    """

    name: str
    folder: str
    address: str
    instead: str
    files: tuple[Known, ...] = ()
    folders: tuple[str, ...] = ()
    archive: Known | None = None
    root: str = ""
    wanted: str = ".*"

    @property
    def downloads(self) -> tuple[Known, ...]:
        """What is fetched from the address."""
        return self.files if self.archive is None else (self.archive,)


def find(source: Published, folder: str | Path | None) -> Path:
    """The folder of a set: below `folder`, or else $REGARD_DATA, then in the user's cache.

    Where it is in neither, it is downloaded into the first of them.
    """
    named = os.environ.get(VARIABLE) if folder is None else folder
    looked = [Path(named).expanduser()] if named else []
    if not looked or not (looked[0] / source.folder).is_dir():
        looked.append(Path(need("pooch", "data").os_cache("regard")))
    for place in looked:
        if (place / source.folder).is_dir():
            return complete(source, place / source.folder)
    archives = [] if source.archive is None else [place / source.archive.name for place in looked]
    there = next((path for path in archives if path.is_file()), None)
    final = looked[0] / source.folder
    with new_folder(final) as fresh:
        if there is not None:
            unpack(source, there, fresh)
        else:
            for known in source.downloads:  # what fails its checksum never leaves the fresh folder
                path = _fetch(source, known, fresh, looked)
                if source.archive is not None:
                    unpack(source, path, fresh)
                    path.unlink()
    return complete(source, final)


def complete(source: Published, folder: Path) -> Path:
    """The folder, if nothing of the set is missing in it."""
    for part in [*(known.name for known in source.files), *source.folders]:
        if not (folder / part).exists():
            raise ValueError(
                f"{folder} lacks {part}, so {source.name} is there only in part; {advice(folder)}"
            )
    return folder


def unpack(source: Published, archive: Path, into: Path) -> None:
    """Take out of an archive what belongs to the set, after checking that it is the official one."""
    assert source.archive is not None
    if not need("pooch", "data").hashes.hash_matches(archive, source.archive.checksum):
        raise ValueError(
            f"{archive} does not have the official checksum {source.archive.checksum}: it is damaged; "
            f"remove it, and load the set again to download it"
        )
    extract(archive, into, source.root, source.wanted)
    complete(source, into)


def _fetch(source: Published, known: Known, fresh: Path, looked: list[Path]) -> Path:
    pooch = need("pooch", "data")
    need("tqdm", "data")
    failures = need("requests", "data").exceptions.RequestException
    url = f"{source.address}{known.name}"
    try:
        downloader = pooch.HTTPDownloader(progressbar=True, timeout=30)
        return Path(pooch.retrieve(url, known.checksum, known.name, fresh, downloader=downloader))
    except ValueError as error:
        raise ValueError(
            f"{url} gave something that does not have the official checksum {known.checksum}: "
            f"the download was cut short or changed on the way; nothing was kept, try again"
        ) from error
    except failures as error:
        what = ", ".join(each.name for each in source.downloads)
        where = looked[0] / source.folder if source.archive is None else looked[0]
        raise ConnectionError(
            f"{source.name} is not in {' or '.join(map(str, looked))} and {url} cannot be downloaded "
            f"({type(error).__name__}); without a network, put {what} into {where}, "
            f"or use the embedded set {source.instead!r}, which needs none"
        ) from error
