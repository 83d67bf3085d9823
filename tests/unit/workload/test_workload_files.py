import re
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from loadgen.errors import InputError, UsageError
from loadgen.model.plan import Plan, PointPlan, TargetPlan, WorkloadPlan
from loadgen.workload import (
    FORMATS,
    bundled_workloads,
    find_workload,
    load_workload,
    open_workload,
    repeat_notice,
    workload_sha256,
)

BUNDLED = ["chat-1k-256", "code-completion", "long-128k-512", "reasoning-1k-8k"]


def plan_of(workload: WorkloadPlan) -> Plan:
    target = TargetPlan("http://127.0.0.1:1", "m")
    return Plan("run", target, workload, (PointPlan(0, "closed:1"),), salt="s")


def test_every_format_can_be_named_in_a_spec_and_in_a_file(tmp_path: Path) -> None:
    for name in FORMATS:
        path = tmp_path / f"{name}.yaml"
        data = "path: rows\n" if "path" in FORMATS[name].options.__struct_fields__ else ""
        path.write_text(f"format: {name}\n{data}", encoding="utf-8")
        assert load_workload(str(path)).format == name


def test_the_bundled_workloads_are_found_by_name() -> None:
    assert set(BUNDLED) <= set(bundled_workloads())


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_workload_opens_and_makes_valid_json(name: str) -> None:
    workload = load_workload(name)
    session = open_workload(plan_of(workload)).session(0, 0)
    assert workload.name == name
    assert session is not None
    body = b"".join(part for part in session.turns[0].body if isinstance(part, bytes))
    assert msgspec.json.decode(b"{" + body + b"}")["max_tokens"] == session.turns[0].max_output_tok


def test_the_long_workload_asks_for_128k_tokens() -> None:
    session = open_workload(plan_of(load_workload("long-128k-512"))).session(0, 0)
    assert session is not None
    assert (session.turns[0].input_tok, session.turns[0].max_output_tok) == (131_072, 512)


def test_the_code_rows_are_as_their_sources_say() -> None:
    folder = find_workload("code-completion").parent
    digest = sha256((folder / "code-completion.jsonl").read_bytes())
    assert digest.hexdigest() in (folder / "SOURCES.md").read_text(encoding="utf-8")


def test_a_spec_becomes_a_plan() -> None:
    plan = load_workload("synthetic:isl=2k,osl='uniform:10,20',shared_prefix=64,turns=3")
    assert (plan.format, plan.isl, plan.osl) == ("synthetic", "2k", "uniform:10,20")
    assert (plan.shared_prefix_tok, plan.turns, plan.salted) == (64, "3", True)
    assert load_workload("synthetic") == load_workload("synthetic:isl=1024")
    chat = load_workload("chat:rows.jsonl,once=true")
    assert (chat.path, chat.once, chat.salted) == ("rows.jsonl", True, False)
    assert load_workload("sharegpt:t.json,turns=all,history=live").history == "live"


def test_the_examples_of_the_documentation_work(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "workloads.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "doc.yaml").write_text(example)
    assert open_workload(plan_of(load_workload(str(tmp_path / "doc.yaml")))).session(0, 0)
    rows = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    reading = ("chat", "sharegpt", "recorded", "agentx", "mooncake", "conflux")
    for format_name, row in zip(reading, rows, strict=True):
        path = tmp_path / f"{format_name}.json"
        path.write_text(row, "utf-8")
        plan = load_workload(f"{format_name}:{path}")
        assert open_workload(plan_of(plan)).session(0, 0)
    for name in re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE):
        assert find_workload(name).is_file()
    for spec in re.findall(r"`(synthetic:[^`]+)`", text):
        assert load_workload(spec.strip('"')).format == "synthetic"


def test_a_folders_hash_is_that_of_its_files_in_order(tmp_path: Path) -> None:
    def digest(*contents: str) -> str:
        folder = tmp_path / "-".join(contents)
        folder.mkdir()
        for number, content in enumerate(contents):
            (folder / f"{number}.json").write_text(content)
        return workload_sha256(WorkloadPlan(format="agentx", path=str(folder)))

    assert len({digest("a", "b"), digest("b", "a"), digest("a", "c"), digest("a")}) == 4
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "any.json").write_text("a")
    copied = WorkloadPlan(format="agentx", path=str(tmp_path / "copy"))
    assert workload_sha256(copied) == workload_sha256(
        WorkloadPlan(format="agentx", path=str(tmp_path / "a"))
    )


def test_a_wrong_spec_is_pointed_at() -> None:
    with pytest.raises(UsageError, match=r"`synthetic` has no `islt`(.|\n)*\^\^\^\^"):
        load_workload("synthetic:islt=5")


def test_a_workload_file_is_read_with_its_data_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("format: sharegpt\npath: d.json\nosl: 64\nturns: all\nsystem: größe\n", "utf-8")
    plan = load_workload(str(path))
    assert (plan.name, plan.path, plan.osl) == ("mine", str(tmp_path / "d.json"), "64")
    assert plan.system_text == "größe"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("format: chat\npath: x\nisl: 5\n", "`isl` means nothing to the format `chat`"),
        ("format: chat\n", "needs `path`"),
        ("format: chad\n", "`format` is `chad`"),
        ("isl: 5\n", "missing required field `format`"),
        ("format: synthetic\nils: 5\n", "unknown field `ils`"),
        ("format: synthetic\nignore_eos: maybe\n", "at `$.ignore_eos`"),
    ],
)
def test_a_wrong_workload_file_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_workload(str(path))
    assert says in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_an_unknown_name_lists_the_bundled_workloads() -> None:
    with pytest.raises(UsageError) as caught:
        load_workload("chat-9k")
    assert "chat-1k-256" in (caught.value.hint or "")


def test_a_data_file_without_its_format_gets_the_right_hint() -> None:
    with pytest.raises(UsageError) as caught:
        load_workload("rows.jsonl")
    assert caught.value.hint == "say how to read it: `chat:rows.jsonl`"


def test_an_unknown_format_in_a_plan_is_refused() -> None:
    with pytest.raises(InputError, match="unknown workload format `tape`"):
        open_workload(plan_of(WorkloadPlan(format="tape")))


def test_the_hash_covers_options_and_data_but_neither_name_nor_place(tmp_path: Path) -> None:
    for name, content in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(content)

    def digest(name: str, **changes: object) -> str:
        plan = WorkloadPlan(name=name, format="chat", path=str(tmp_path / name))
        return workload_sha256(msgspec.structs.replace(plan, **changes))

    assert digest("a") == digest("b") == digest("a", sha256="0" * 64)
    assert len({digest("a"), digest("c"), digest("a", osl="9"), digest("a", once=True)}) == 4


def test_the_hash_covers_the_file_of_empirical_lengths(tmp_path: Path) -> None:
    digests = []
    for name, content in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).write_text(content)
        digests.append(workload_sha256(WorkloadPlan(isl=f"empirical:{tmp_path / name}")))
    assert digests[0] == digests[1] != digests[2]


def test_fewer_rows_than_sessions_give_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt":"a"}\n' * 10)
    sessions = open_workload(plan_of(load_workload(f"chat:{path}")))
    assert repeat_notice(sessions, 10, once=False) is None
    told = repeat_notice(sessions, 100, once=False)
    assert told == "10 rows for 100 sessions: rows repeat, 90 of 100 times"
    assert "one pass" in (repeat_notice(sessions, 100, once=True) or "")
    synthetic = open_workload(plan_of(WorkloadPlan()))
    assert repeat_notice(synthetic, 10**6, once=False) is None
