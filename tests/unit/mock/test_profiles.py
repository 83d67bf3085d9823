from pathlib import Path

import pytest

from loadgen.mock.profiles import ProfileError, load_profile, profile_names


def test_every_built_in_profile_loads() -> None:
    assert profile_names() == ["gb200-node", "small"]
    for name in profile_names():
        assert load_profile(name).name == name


def test_overrides_reach_sections_and_top_members() -> None:
    profile = load_profile("small", ("max_batch=3", "kv.n_blocks=64", "kv.prefix_cache=false"))
    assert (profile.max_batch, profile.kv.n_blocks, profile.kv.prefix_cache) == (3, 64, False)
    assert profile.context_tok == 64 * 16 - 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("decode: {a_s: fast}", "decode.a_s: `fast`: expected a number"),
        ("decode: 3", "decode: `3`: expected a mapping"),
        ("max_batch: 0", "max_batch: `0`: expected a whole number from 1"),
        ("max_batch: true", "max_batch: `True`: expected a whole number"),
        ("kv: {n_block: 3}", "kv.n_block: unknown member: expected one of kv.block_tok"),
        ("role_event: late", "role_event: `late`: expected with_first_token or at_once"),
        ("- a", "expected a mapping of members"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_profile_names_file_path_value_and_expectation(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ProfileError) as caught:
        load_profile(str(path))
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ProfileError, match=r"no profile `large`: expected `gb200-node`, `small`"):
        load_profile("large")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"gone\.yaml: No such file"):
        load_profile(str(tmp_path / "gone.yaml"))
