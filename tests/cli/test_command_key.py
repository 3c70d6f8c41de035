from __future__ import annotations

import stat

from sordino.cli.main import main
from sordino.privacy.keys import SecretKey


def test_key_is_private_random_and_usable(tmp_path, capsys):
    assert main(["key", str(tmp_path / "a.key")]) == 0
    assert main(["key", str(tmp_path / "b.key")]) == 0
    assert "keep it apart" in capsys.readouterr().out
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    first, second = (SecretKey.from_file(tmp_path / name) for name in ("a.key", "b.key"))
    assert first.material != second.material


def test_existing_file_stays(tmp_path, capsys):
    (tmp_path / "a.key").write_text("mine")
    assert main(["key", str(tmp_path / "a.key")]) == 1
    assert capsys.readouterr().err == (
        f"sordino: key file {tmp_path / 'a.key'} exists already; it is left as it is\n"
    )
    assert (tmp_path / "a.key").read_text() == "mine"
