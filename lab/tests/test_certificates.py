"""Each certificate shows by itself what a claim of the registry says of it."""

import subprocess
import sys
from pathlib import Path

from pifolab_papers import load_registry

CERTIFICATES = Path(__file__).parents[1] / "certificates"


def test_every_certificate_belongs_to_a_claim_and_holds_without_pifolab() -> None:
    named = {claim.certificate: claim for claim in load_registry().claims if claim.certificate}
    files = {path.name: path for path in CERTIFICATES.glob("*.py")}
    assert sorted(named) == sorted(files)
    for name, file in files.items():
        text = file.read_text(encoding="utf-8")
        assert "pifolab" not in text
        assert f"(claim {named[name].id})" in text, name
        code = text.split('"""')[2]
        assert len([line for line in code.splitlines() if line.strip()]) <= 36, name
        # Every assertion in it holds.
        subprocess.run([sys.executable, "-I", str(file)], check=True, capture_output=True)
