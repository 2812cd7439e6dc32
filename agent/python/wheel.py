"""Builds the wheel of this package with only the standard library: `wheel.py DIRECTORY` writes it and prints its path."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).parent


def main(directory: str) -> None:
    project = (HERE / "pyproject.toml").read_text()
    version, summary, python = (
        re.search(rf'^{key} = "(.*)"$', project, re.M)[1] for key in ("version", "description", "requires-python")
    )
    info = f"holdfast-{version}.dist-info"
    files = {f"holdfast/{p.name}": p.read_bytes() for p in sorted((HERE / "holdfast").iterdir()) if p.is_file()}
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: holdfast\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\nRequires-Python: {python}\n"
    ).encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: holdfast\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}"
        for name, content in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    path = pathlib.Path(directory) / f"holdfast-{version}-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
