"""Embedding on a real cluster of processes: the vectors of one process, whatever dies on the way."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import textlds
from integrations.test_dask import Killer, client  # noqa: F401  # the fixture
from model.worlds import names, random_model
from textlds.errors import ArgumentError, CorpusError, FormatError, OutputExistsError
from textlds.integrations.dask_embedding import MANIFEST, embed_on_cluster

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("default")  # a foreign library's warnings are not ours to fix


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedding")
    model = random_model(0, V=30, h=4)
    model.save(folder / "model")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(names(29), rng.integers(1, 12))) for _ in range(600)]
    (folder / "a.txt").write_text("\n".join(texts[:400]) + "\n")
    (folder / "b.txt").write_text("\n".join(texts[400:]) + "\n")
    table = pa.table({"id": range(600), "body": [None if i == 7 else text for i, text in enumerate(texts)]})
    parquet.write_table(table, folder / "t.parquet", row_group_size=50)
    return folder, model, texts


def read(folder):
    parts = sorted(path for path in folder.iterdir() if path.name.startswith("part-"))
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    return pa.concat_tables([parquet.read_table(path).replace_schema_metadata() for path in parts]), parts


def test_texts(client, world, tmp_path):  # noqa: F811
    folder, model, texts = world
    embed = textlds.Embedder(folder / "model")
    sources = [str(folder / "a.txt"), str(folder / "b.txt")]
    killer = Killer(client, ["Embed"])
    done = embed_on_cluster(client, embed, sources, tmp_path / "out", piece_bytes=2000, progress=killer)
    assert len(killer.killed) == 1
    assert done["parts"] == done["made"] > 5
    assert done["texts"] == 600
    table, parts = read(tmp_path / "out")
    assert len(parts) == done["parts"]
    assert table["text"].to_pylist() == texts
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 4)
    np.testing.assert_allclose(np.array(table["vector"].to_pylist()), model.encode(texts), atol=1e-5)


def test_only_missing_parts_are_made_again(client, world, tmp_path):  # noqa: F811
    folder, _, _ = world
    embed, source, out = textlds.Embedder(folder / "model", pooling="none"), str(folder / "a.txt"), tmp_path / "out"
    first = embed_on_cluster(client, embed, source, out, piece_bytes=3000)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert embed_on_cluster(client, embed, source, out, piece_bytes=3000)["made"] == 0
    (out / "part-000001.parquet").unlink()
    (out / "part-000002.parquet").write_bytes(before["part-000002.parquet"][:100])  # a copy that broke off
    (out / "part-000003.parquet").write_bytes(before["part-000000.parquet"])  # the part of another piece
    again = embed_on_cluster(client, embed, source, out, piece_bytes=3000)
    assert again == {"parts": first["parts"], "made": 3, "texts": again["texts"]}
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    table, _ = read(out)
    assert table.schema.field("vectors").type == pa.list_(pa.list_(pa.float32(), 4))


def test_parquet_in_parquet_out(client, world, tmp_path):  # noqa: F811
    folder, model, texts = world
    embed = textlds.Embedder(folder / "model", column="body", recipe="paper", name="v")
    done = embed_on_cluster(client, embed, str(folder / "t.parquet"), tmp_path / "out", piece_bytes=4000)
    assert done["parts"] > 2
    table, _ = read(tmp_path / "out")
    assert table.schema.names == ["id", "body", "v"]
    assert table["id"].to_pylist() == list(range(600))
    vectors = table["v"].to_pylist()
    assert vectors[7] is None
    kept = [i for i in range(600) if i != 7]
    expected = model.encode([texts[i] for i in kept], recipe="paper")
    np.testing.assert_allclose(np.array([vectors[i] for i in kept]), expected, atol=1e-5)


def test_a_remote_folder(client, world, tmp_path):  # noqa: F811
    folder, model, texts = world
    url = f"file://{tmp_path}/out"
    embed_on_cluster(client, textlds.Embedder(folder / "model"), f"file://{folder}/b.txt", url, piece_bytes=2000)
    table, _ = read(tmp_path / "out")
    np.testing.assert_allclose(np.array(table["vector"].to_pylist()), model.encode(texts[400:]), atol=1e-5)


def test_the_command(client, world, tmp_path, monkeypatch):  # noqa: F811
    from textlds.cli import build_app

    folder, _, _ = world
    monkeypatch.chdir(folder)
    options = ["--scheduler", client.scheduler.address, "--pooling", "mean", "--json", "-q"]
    result = CliRunner().invoke(build_app(), ["embed", "model", "a.txt", "-o", str(tmp_path / "out"), *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["texts"] == 400
    assert read(tmp_path / "out")[0].num_rows == 400
    assert CliRunner().invoke(build_app(), ["embed", "model", "a.txt", *options]).exit_code == 1
    for option in (["--threads", "2"], ["--force"]):
        failed = CliRunner().invoke(build_app(), ["embed", "model", "a.txt", "-o", "out", *option, *options])
        assert f"{option[0]} has no effect with --scheduler" in failed.stderr


def test_a_url_of_the_command_stays_one(client, world, tmp_path, monkeypatch):  # noqa: F811
    from textlds.cli import build_app

    folder, _, _ = world
    monkeypatch.chdir(tmp_path)
    arguments = ["embed", str(folder / "model"), str(folder / "b.txt"), "-o", f"file://{tmp_path}/out"]
    on_cluster = ["--scheduler", client.scheduler.address, "--pooling", "mean"]
    result = CliRunner().invoke(build_app(), [*arguments, *on_cluster])
    assert result.exit_code == 0, result.output
    assert "1 of 1 part now, with 200 texts" in " ".join(result.stderr.split())
    assert os.listdir(tmp_path) == ["out"]
    assert read(tmp_path / "out")[0].num_rows == 200
    again = CliRunner().invoke(build_app(), [*arguments, *on_cluster])
    assert "out was complete already: 1 part." in " ".join(again.stderr.split())


def test_a_run_that_failed_does_not_block_its_folder(client, world, tmp_path):  # noqa: F811
    folder, _, _ = world
    source, out = str(folder / "a.txt"), tmp_path / "out"
    with pytest.raises(ArgumentError, match="nonsense"):
        embed_on_cluster(client, textlds.Embedder(folder / "model", recipe="nonsense"), source, out)
    assert not out.exists()
    with pytest.raises(ArgumentError, match="no column 'text'"):
        embed_on_cluster(client, textlds.Embedder(folder / "model"), str(folder / "t.parquet"), out)
    assert os.listdir(out) == [MANIFEST]
    assert embed_on_cluster(client, textlds.Embedder(folder / "model"), source, out)["texts"] == 400


def test_vectors_of_tokens_are_those_of_the_command_on_one_machine(client, world, tmp_path):  # noqa: F811
    folder, model, texts = world
    embed_on_cluster(
        client, textlds.Embedder(folder / "model", pooling="none"), str(folder / "b.txt"), tmp_path / "out"
    )
    row = read(tmp_path / "out")[0]["vectors"].to_pylist()[0]
    np.testing.assert_allclose(np.array(row), model(texts[400]).vectors, atol=1e-5)


def test_bad_input(client, world, tmp_path):  # noqa: F811
    folder, _, _ = world
    embed, source, out = textlds.Embedder(folder / "model"), str(folder / "a.txt"), tmp_path / "out"
    embed_on_cluster(client, embed, source, out)
    for other, message in (
        ((textlds.Embedder(folder / "model", recipe="paper"), source), r"another run: embedder differs\."),
        ((embed, str(folder / "b.txt")), r"another run: pieces differ\."),
    ):
        with pytest.raises(OutputExistsError, match=message):
            embed_on_cluster(client, *other, out)
    (out / MANIFEST).write_text("[]")
    with pytest.raises(FormatError, match="not a manifest"):
        embed_on_cluster(client, embed, source, out)
    with pytest.raises(OutputExistsError, match="not empty"):
        embed_on_cluster(client, embed, source, folder)
    with pytest.raises(ArgumentError, match=r"t.parquet is, and their parts"):
        embed_on_cluster(client, embed, [source, str(folder / "t.parquet")], tmp_path / "mixed")
    with pytest.raises(FormatError, match="does not exist"):
        embed_on_cluster(client, textlds.Embedder(folder / "nothing"), source, tmp_path / "no model")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(CorpusError, match="not a whole Parquet file"):
        embed_on_cluster(client, embed, str(tmp_path / "bad.parquet"), tmp_path / "bad")
    with pytest.raises(ArgumentError, match="no column 'text'"):
        embed_on_cluster(client, embed, str(folder / "t.parquet"), tmp_path / "column")
    assert not [name for name in os.listdir(tmp_path / "column") if name.startswith((".", "part"))]


def test_a_tagger_on_a_cluster(client, tmp_path):  # noqa: F811
    from tagging.worlds import small_model, tagged_sentences
    from textlds.cli import build_app
    from textlds.tagging.settings import TaggerSettings

    tagger = textlds.Tagger.train(small_model(), tagged_sentences(60), settings=TaggerSettings(hidden=8, rounds=2))
    tagger.save(tmp_path / "tagger")
    texts = ["the cat sees Anna .", "Ben works !", "the dog walks the river ."] * 20
    (tmp_path / "a.txt").write_text("\n".join(texts) + "\n")
    arguments = ["tagger", "tag", str(tmp_path / "tagger"), str(tmp_path / "a.txt"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(build_app(), [*arguments, "--scheduler", client.scheduler.address, "-q"])
    assert result.exit_code == 0, result.output
    table, _ = read(tmp_path / "out")
    expected = [[tag for sentence in tagger.tag([text]) for tag in sentence.tags] for text in texts]
    assert table["tags"].to_pylist() == expected
