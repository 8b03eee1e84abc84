"""Compares the contents of packages with a running service and with the tools that use them: metrics of the dashboard,
alert rules, health check of the container, systemd unit, manual pages and completions, layout of the Debian package.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import httpx
import pytest

from conftest import Answer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
UNIT = PACKAGING / "systemd/toise.service"
NAME = re.compile(r"\b(?:toise|process)_[a-z_]+\b")
SELECTOR = re.compile(r"\b((?:toise|process)_[a-z_]+)\{([^}]*)\}")
EXPOSURE_MAX = 2.0
"""Exposure that `systemd-analyze security` gives the unit, of 10."""


def base(name: str) -> str:
    """The metric to which a series of a histogram belongs."""
    return re.sub(r"_(bucket|sum|count)$", "", name)


def registered() -> set[str]:
    """The metrics registered in the source; most counters are served only after their first count."""
    made = re.compile(r'Metric::(?:counter|gauge|seconds|histogram)\(\s*"([a-z_]+)"')
    return {name for file in (ROOT / "src").rglob("*.rs") for name in made.findall(file.read_text(encoding="utf-8"))}


def expressions() -> list[str]:
    """Every expression of the dashboard and of the alert rules."""
    dashboard = json.loads((PACKAGING / "grafana/dashboards/toise.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    found += [variable["definition"] for variable in dashboard["templating"]["list"]]
    found += [annotation["expr"] for annotation in dashboard["annotations"]["list"]]
    rules = (PACKAGING / "prometheus/rules.yml").read_text(encoding="utf-8")
    return found + re.findall(r"expr: (>?(?:.|\n(?! +\w+:))*)", rules)


def test_every_metric_of_the_dashboard_and_the_rules_exists(demo, client):
    client.properties.count()
    served = httpx.get(demo["address"] + "/metrics").text
    known = {base(name) for name in re.findall(r"^# TYPE ([a-z_]+) ", served, re.MULTILINE)} | registered()
    used = {base(name) for expression in expressions() for name in NAME.findall(expression)}
    assert len(used) > 30
    assert used <= known, sorted(used - known)
    # And the other way round: every metric is used.
    assert known - used <= {"toise_lake_sequence"}, sorted(known - used)


def test_every_label_that_a_query_selects_by_is_served(demo, client):
    client.properties.count()
    labels: dict[str, set[str]] = {}
    for name, inner in SELECTOR.findall(httpx.get(demo["address"] + "/metrics").text):
        labels.setdefault(base(name), set()).update(re.findall(r"(\w+)=", inner))
    for expression in expressions():
        for name, inner in SELECTOR.findall(expression):
            chosen = set(re.findall(r"(\w+)(?:=|!)", inner)) - {"job", "le"}
            assert base(name) not in labels or chosen <= labels[base(name)], expression


def test_the_dashboard_has_panels_of_one_number_each_that_do_not_overlap():
    dashboard = json.loads((PACKAGING / "grafana/dashboards/toise.json").read_text(encoding="utf-8"))
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells, panel["title"]
        taken |= cells
    assert max(x for x, _ in taken) == 23


def test_the_runbook_lists_every_rule_with_its_meaning():
    runbook = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    rules = (PACKAGING / "prometheus/rules.yml").read_text(encoding="utf-8")
    found = re.findall(r'- alert: (\w+)\n(?:.|\n)*?severity: (\w+)\}\n +annotations: \{summary: "([^"]*)"', rules)
    assert len(found) == rules.count("- alert:")
    assert [rule for rule in found if "| `{}` | {} | {} |".format(*rule) not in runbook] == []


@pytest.mark.parametrize(("answers", "is_well"), [([Answer(200, b"")], True), ([Answer(503, b"")], False)])
def test_the_health_check_of_the_container_follows_readiness(scripted, answers, is_well):
    server = scripted(answers)
    environment = {**os.environ, "TOISE_HEALTH_PORT": str(server.server_address[1])}
    done = subprocess.run([PACKAGING / "docker/healthcheck"], env=environment, timeout=10, check=False)
    assert (done.returncode == 0) == is_well
    assert server.requests[0].path == "/healthz"


def test_the_health_check_fails_where_nobody_listens():
    environment = {**os.environ, "TOISE_HEALTH_PORT": "9"}
    check = PACKAGING / "docker/healthcheck"
    done = subprocess.run([check], env=environment, capture_output=True, timeout=10, check=False)
    assert done.returncode != 0


def test_release_notes_are_the_changelogs_section_and_the_checksums(tmp_path):
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- **Later**.\n\n"
        "## [1.2.3] - 2026-12-01\n\n### Fixed\n\n- **This**: `a`.\n- That.\n\n"
        "## [1.2.2] - 2026-11-01\n\n## [1.2] - 2026-10-01\n\n- Old.\n\n[1.2.3]: https://example.org/1.2.3\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "packaging").mkdir()
    (tmp_path / "docs/CHANGELOG.md").write_text(changelog, encoding="utf-8")
    script = shutil.copy(PACKAGING / "release_notes.py", tmp_path / "packaging")
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{'b' * 64}  toise.whl\n{'a' * 64}  a.tar.gz\n", encoding="utf-8")

    def told(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, script, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)

    expected = (
        "### Fixed\n\n- **This**: `a`.\n- That.\n\n### SHA-256\n\n```text\n"
        f"{'a' * 64}  a.tar.gz\n{'b' * 64}  toise.whl\n```\n"
    )
    assert told("v1.2.3", sums).stdout == expected
    assert told("v1.2").stdout == "- Old.\n"
    for tag, why in {"v1.2.4": "has no section [1.2.4]", "v1.2.2": "says nothing of [1.2.2]"}.items():
        refused = told(tag, sums)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert why in refused.stderr
    # The current version can be released: the changelog has its changes.
    own = subprocess.run(
        [sys.executable, PACKAGING / "release_notes.py", "vUnreleased"], capture_output=True, text=True, check=True
    )
    assert "\n### Added\n" in own.stdout


def test_hadolint_finds_nothing():
    if not shutil.which("hadolint"):
        pytest.skip("hadolint is not installed")
    subprocess.run(["hadolint", str(ROOT / "Dockerfile")], check=True)


def test_yaml_is_sound_and_the_compose_file_mounts_what_is_there():
    pytest.importorskip("yamllint")
    files = [".github", "compose.yaml", "packaging"]
    subprocess.run([sys.executable, "-m", "yamllint", "--strict", *files], cwd=ROOT, check=True)
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith(".") or (ROOT / source).exists(), volume


def test_the_unit_is_valid_and_hardened(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    # The verification checks that the executable exists, but it is not installed here.
    executable = tmp_path / "toise"
    executable.write_text("#!/bin/sh\n", encoding="utf-8")
    executable.chmod(0o755)
    unit = tmp_path / "toise.service"
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/bin/toise", str(executable)), encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "toise.service" not in checked.stderr
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False
    )
    exposure = re.search(r"Overall exposure level for toise.service: ([\d.]+)", told.stdout)
    if exposure is None:
        pytest.skip("this systemd-analyze cannot judge a unit that is not loaded")
    assert float(exposure.group(1)) <= EXPOSURE_MAX


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Manual pages and completions, generated by the executable."""
    executable = os.environ.get("TOISE")
    if not executable:
        pytest.skip("needs the executable: set TOISE")
    folder = tmp_path_factory.mktemp("assets")
    subprocess.run([PACKAGING / "assets.sh", executable, folder], check=True)
    return folder


def test_every_command_has_a_page_and_shells_take_the_completions(assets):
    pages = {page.stem for page in (assets / "man").glob("*.1")}
    assert {"toise", "toise-serve", "toise-sql", "toise-keys-create"} <= pages
    text = (assets / "man/toise-serve.1").read_text(encoding="utf-8")
    assert ".TH toise-serve 1" in text
    assert "\\-\\-listen" in text
    for shell, file in {"bash": "toise.bash", "zsh": "_toise", "fish": "toise.fish"}.items():
        script = assets / "completions" / file
        assert "serve" in script.read_text(encoding="utf-8")
        if shutil.which(shell):
            subprocess.run([shell, "-n", script], check=True)


def test_bash_completes_a_command(assets):
    script = f"""
        source {assets}/completions/toise.bash
        COMP_WORDS=(toise ser) COMP_CWORD=1
        _toise toise ser toise
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["serve"]


def test_the_debian_package_can_be_laid_out(assets, tmp_path):
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is not installed")
    with (ROOT / "Cargo.toml").open("rb") as file:
        package = tomllib.load(file)["package"]["metadata"]["deb"]
    tree = tmp_path / "tree"
    for source, target, mode in package["assets"]:
        if source == "target/release/toise":
            found = [pathlib.Path(os.environ["TOISE"])]
        elif source.startswith("target/assets/"):
            found = list(assets.glob(source.removeprefix("target/assets/")))
        else:
            found = list(ROOT.glob(source))
        assert found, source
        for file in found:
            place = tree / (target + file.name if target.endswith("/") else target)
            place.parent.mkdir(parents=True, exist_ok=True)
            if source == "target/release/toise":
                # The package would only contain its many bytes again.
                place.write_bytes(b"")
            else:
                shutil.copy(file, place)
            place.chmod(int(mode, 8))
    unit = tree / "usr/lib/systemd/system/toise.service"
    unit.parent.mkdir(parents=True)
    shutil.copy(UNIT, unit)
    (tree / "DEBIAN").mkdir(mode=0o755)
    control = "Package: toise\nVersion: 0.1.0\nArchitecture: amd64\nMaintainer: a <a@example.org>\nDescription: toise\n"
    (tree / "DEBIAN/control").write_text(control, encoding="utf-8")
    (tree / "DEBIAN/conffiles").write_text("".join(f"{file}\n" for file in package["conf-files"]), encoding="utf-8")
    for script in ("postinst", "postrm"):
        shutil.copy(PACKAGING / "debian" / script, tree / "DEBIAN" / script)
        (tree / "DEBIAN" / script).chmod(0o755)
        subprocess.run(["sh", "-n", tree / "DEBIAN" / script], check=True)
    made = tmp_path / "toise.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, made], check=True, capture_output=True)
    listed = subprocess.run(["dpkg-deb", "--contents", made], check=True, capture_output=True, text=True).stdout
    for path in ("./usr/bin/toise", "./etc/default/toise", "./usr/share/man/man1/toise-serve.1"):
        assert f" {path}\n" in listed


def test_the_release_workflow_builds_what_the_lock_file_and_the_dockerfile_name():
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    version = re.search(r"CARGO_AUDITABLE: ([\d.]+)", workflow)
    assert version is not None
    assert f"--version {version.group(1)} cargo-auditable" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(workflow)["jobs"]
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert len(scripts) >= 8
    # A value that an expression inserts into a script could run commands, so values must be passed in variables.
    assert not [script for script in scripts if "${{" in script]
