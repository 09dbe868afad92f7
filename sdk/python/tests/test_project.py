"""Every question names the project of the call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from countersign import Call


def sent(call: Call) -> str | None:
    project = json.loads(call.body()).get("project")
    assert project is None or isinstance(project, str)
    return project


def test_the_project_is_given_or_the_repository_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shop, other = tmp_path / "shop", tmp_path / "home" / "other"
    for repository in (shop, other):
        (repository / ".git").mkdir(parents=True)
        (repository / "src").mkdir()
    monkeypatch.chdir(shop / "src")
    assert sent(Call("x")) == str(shop)
    assert sent(Call("x", cwd=str(other / "src"))) == str(other)
    assert sent(Call("x", project="/srv/given")) == "/srv/given"
    assert sent(Call("x", project="")) is None
    assert sent(Call("x", cwd="relative")) is None


def test_the_home_folder_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder in (tmp_path, tmp_path / "home"):
        (folder / ".git").mkdir(parents=True)
    (tmp_path / "home" / "work").mkdir()
    assert sent(Call("x", cwd=str(tmp_path / "home" / "work"))) is None


def test_a_permit_does_not_depend_on_the_project() -> None:
    assert Call("x", project="/srv/a").place() == Call("x", project="/srv/b").place()
