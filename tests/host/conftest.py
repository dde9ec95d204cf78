"""Fake distributions: a package and its records in a folder that goes on sys.path."""

import shutil
import sys

import pytest

from harness.host import discover


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory):
    """A folder with what `discover` remembers of the methods that are really installed."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        discover()
    return folder


@pytest.fixture
def install(tmp_path, monkeypatch, warm_cache):
    """Make distributions: install(name, version, {module: source}, {slug: target})."""
    shutil.copytree(warm_cache, tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.startswith("zoo_")]:
        monkeypatch.delitem(sys.modules, name)

    def make(name, version, modules, points):
        site = tmp_path / name
        package = site / name.replace("-", "_")
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('listing must not import packages')\n")
        for module, source in modules.items():
            (package / f"{module}.py").write_text(source.replace("{package}", package.name))
        info = site / f"{package.name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{slug} = {package.name}.{target}" for slug, target in points.items()]
        (info / "entry_points.txt").write_text("[harness.methods]\n" + "\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(site)
        return package

    return make
