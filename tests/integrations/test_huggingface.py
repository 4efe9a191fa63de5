"""Models on a hub and data sets as corpora, with the real client and the real library."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from integrations.hub import Repository, running_hub, use_hub
from model.worlds import counts_of, fit, markov_sentence, random_model
from textlds import TextLDS
from textlds.corpus.settings import TextSettings
from textlds.errors import ArgumentError, FormatError, HubError, MissingExtraError, TextLDSError
from textlds.integrations.card import model_card

constants = pytest.importorskip("huggingface_hub.constants")
yaml = pytest.importorskip("yaml")

# how the client hands its file to the library below it
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

NAME = "anna/small-model"
FILES = {"config.json", "model.safetensors", "vocabulary.json", "history.json"}
SENTENCE = ["aab", "aac", "aad"]


@pytest.fixture(scope="module")
def model():
    return fit(counts_of([markov_sentence(0, 5000, V=40)]), state_size=4, iterations=5)


@pytest.fixture(scope="module")
def server():
    with running_hub() as hub:
        yield hub


@pytest.fixture
def hub(server, tmp_path, monkeypatch):
    """An empty hub, and a client that knows its address and an empty cache (what HF_ENDPOINT and HF_HOME set)."""
    for held in (server.repositories, server.objects, server.requests, server.refused, server.broken):
        held.clear()
    use_hub(monkeypatch, server.url, tmp_path / "cache")
    monkeypatch.setenv("HF_TOKEN", server.token)
    return server


def vectors(model):
    return next(model.embed([SENTENCE])).vectors


def test_there_and_back(hub, model):
    assert model.push_to_hub(NAME) == f"{hub.url}/{NAME}"
    assert set(hub.repositories[NAME].files()) == {*FILES, "README.md"}
    again = TextLDS.from_pretrained(NAME)
    np.testing.assert_array_equal(vectors(again), vectors(model))
    assert again.history == model.history
    assert again.vocabulary == model.vocabulary


def test_the_variables_of_the_client_are_obeyed(hub, model, tmp_path):
    """HF_ENDPOINT and HF_HOME, in a process of its own."""
    model.push_to_hub(NAME)
    code = f"from textlds import TextLDS; print(TextLDS.from_pretrained({NAME!r}).state_size)"
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "4"
    assert list((tmp_path / "home" / "hub").glob("models--anna--small-model/snapshots/*/model.safetensors"))


def test_a_folder_needs_no_hub(model, tmp_path, monkeypatch):
    model.save(tmp_path / "saved")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    np.testing.assert_array_equal(vectors(TextLDS.from_pretrained(tmp_path / "saved")), vectors(model))
    with pytest.raises(ArgumentError, match="is a folder here"):
        TextLDS.from_pretrained(str(tmp_path / "saved"), revision="v1")


def test_only_the_files_of_a_model_are_fetched(hub, model):
    model.push_to_hub(NAME)
    hub.repositories[NAME].commit("main", {"pytorch_model.bin": b"cos\nsystem\n", "run.py": b"import os", "x/y": b"z"})
    hub.requests.clear()
    TextLDS.from_pretrained(NAME)
    fetched = {
        request.rsplit("/", 1)[1] for request in hub.requests if request.startswith("GET") and "resolve" in request
    }
    assert fetched == FILES


def test_what_was_fetched_once_is_there_without_the_hub(hub, model):
    model.push_to_hub(NAME)
    TextLDS.from_pretrained(NAME)
    hub.refused["/"] = 403
    np.testing.assert_array_equal(vectors(TextLDS.from_pretrained(NAME)), vectors(model))


def test_the_card_tells_what_the_history_knows(model):
    card = model_card(model, NAME, license="cc-by-sa-4.0")
    _, header, text = card.split("---\n", 2)
    facts = yaml.safe_load(header)
    assert (facts["library_name"], facts["license"]) == ("textlds", "cc-by-sa-4.0")
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", text, re.MULTILINE))
    assert rows["tokens counted"] == f"{model.history.settings['tokens']:,}"
    assert rows["vocabulary"].startswith(f"{model.vocabulary.n_types} words")
    assert rows["EM iterations"] == "5"
    assert rows["log-likelihood, nats per token"].startswith(f"{model.history.log_likelihood[-1]:.3f} (")
    assert rows["seed"] == "0"
    assert "license" not in model_card(model, NAME)
    spelt = "their vectors come from their spelling"
    assert spelt in card
    assert spelt not in model_card(random_model(0), NAME)  # which has no lexicon


def test_a_model_without_history_has_a_card():
    settings = TextSettings(tokenizer="custom", unknown="single", boundary_token="c")
    odd = random_model(0, V=4, words=["|", "a`b", "c"], settings=settings)
    card = model_card(odd, NAME)
    assert "`\\|`" in card
    assert "`` a`b ``" in card
    assert "tokens counted" not in card
    assert "trained with one of its own" in card


def test_the_code_of_the_card_runs(hub, model, capsys):
    model.push_to_hub(NAME)
    (code,) = re.findall(r"```python\n(.*?)```", hub.repositories[NAME].files()["README.md"].decode(), re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.startswith("['The', 'bank', 'raised', 'rates")


def test_what_its_author_wrote_on_a_card_stays(hub, model):
    model.push_to_hub(NAME, license="mit")
    card = hub.repositories[NAME].files()["README.md"].decode()
    edited = card.replace("license: mit", "license: cc0-1.0").replace("# small-model", "# Letters of my aunt")
    hub.repositories[NAME].commit("main", {"README.md": edited.encode()})
    other = random_model(3)
    other.push_to_hub(NAME)
    renewed = hub.repositories[NAME].files()["README.md"].decode()
    assert "# Letters of my aunt" in renewed
    assert "license: cc0-1.0" in renewed
    assert "| length of a vector | 3 |" in renewed
    assert "| length of a vector | 4 |" not in renewed
    assert renewed.count("## Use") == 1
    hub.repositories[NAME].commit("main", {"README.md": b"---\ntags: [x]\n---\nMy own.\n"})
    model.push_to_hub(NAME)
    assert hub.repositories[NAME].files()["README.md"] == b"---\ntags: [x]\n---\nMy own.\n"


def test_revisions(hub, model):
    model.push_to_hub(NAME)
    random_model(3).push_to_hub(NAME, revision="tiny", message="A smaller one")
    assert TextLDS.from_pretrained(NAME).state_size == 4
    assert TextLDS.from_pretrained(NAME, revision="tiny").state_size == 3
    first = hub.repositories[NAME].branches["main"]
    random_model(4, h=2).push_to_hub(NAME)
    assert TextLDS.from_pretrained(NAME).state_size == 2
    assert TextLDS.from_pretrained(NAME, revision=first).state_size == 4
    with pytest.raises(HubError, match="no revision 'gone'"):
        TextLDS.from_pretrained(NAME, revision="gone")


def test_private_models_need_a_token(hub, model, monkeypatch):
    model.push_to_hub(NAME, private=True)
    assert hub.repositories[NAME].private
    assert TextLDS.from_pretrained(NAME, token="hf_good").state_size == 4
    monkeypatch.setenv("HF_TOKEN", "hf_bad")
    with pytest.raises(HubError, match="has no model anna/another, or it is private"):
        TextLDS.from_pretrained("anna/another")
    with pytest.raises(HubError, match="log in with a token that may"):
        model.push_to_hub(NAME)


@pytest.mark.parametrize("part", ["/preupload/", "/lfs/", "/commit/", "xet"])
def test_an_upload_that_fails_half_way_changes_nothing(hub, model, part, monkeypatch):
    model.push_to_hub(NAME)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", part != "xet")
    before = dict(hub.repositories[NAME].files())
    made = []
    monkeypatch.setattr(
        tempfile, "mkdtemp", lambda *a, _make=tempfile.mkdtemp, **k: made.append(_make(*a, **k)) or made[-1]
    )
    hub.refused[part] = 400
    with pytest.raises(HubError, match="nothing was changed"):
        random_model(3).push_to_hub(NAME)
    assert hub.repositories[NAME].files() == before
    assert made
    assert not any(os.path.exists(folder) for folder in made)
    hub.refused.clear()
    assert TextLDS.from_pretrained(NAME).state_size == 4


def test_a_download_that_breaks_off_can_be_repeated(hub, model, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the client's own attempts
    model.push_to_hub(NAME)
    hub.broken.add("vocabulary.json")
    with pytest.raises(HubError):
        TextLDS.from_pretrained(NAME)
    hub.broken.clear()
    np.testing.assert_array_equal(vectors(TextLDS.from_pretrained(NAME)), vectors(model))


def test_an_altered_file_is_refused(hub, model):
    model.push_to_hub(NAME)
    repository = hub.repositories[NAME]
    words = repository.files()["vocabulary.json"]
    repository.commit("main", {"vocabulary.json": words.replace(b'"aab"', b'"aaz"')})
    with pytest.raises(FormatError, match="altered"):
        TextLDS.from_pretrained(NAME)
    config = json.loads(repository.files()["config.json"])
    del config["config_sha256"]
    config["files"]["../../../etc/passwd"] = config["files"]["vocabulary.json"]
    repository.commit("main", {"config.json": json.dumps(config).encode(), "vocabulary.json": words})
    with pytest.raises(FormatError, match="outside its folder"):
        TextLDS.from_pretrained(NAME)


def test_something_else_on_the_hub_is_refused(hub, model):
    model.push_to_hub(NAME)
    for content, complaint in (
        (b'{"architectures": ["BertModel"]}', "not written by textlds"),
        (b"{", "not valid JSON"),
    ):
        hub.repositories[NAME].commit("main", {"config.json": content})
        with pytest.raises(FormatError, match=complaint):
            TextLDS.from_pretrained(NAME)
    hub.repositories["anna/poems"] = Repository()
    hub.repositories["anna/poems"].commit("main", {"README.md": b"Roses are red."})
    with pytest.raises(TextLDSError, match=r"config\.json"):
        TextLDS.from_pretrained("anna/poems")


def test_without_the_hub(hub, model, monkeypatch, tmp_path):
    use_hub(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")
    with pytest.raises(HubError, match="cannot be reached"):
        TextLDS.from_pretrained(NAME)
    with pytest.raises(HubError):
        model.push_to_hub(NAME)


def test_wrong_names(hub, model, tmp_path):
    for name in ("no-such-folder", "a/b/c", "./a/b", tmp_path / "gone"):
        with pytest.raises(ArgumentError, match="there is no folder"):
            TextLDS.from_pretrained(name)
    with pytest.raises(ArgumentError, match="not int"):
        TextLDS.from_pretrained(3)
    for name in ("model", "a/b/c", 3):
        with pytest.raises(ArgumentError, match="user/name"):
            model.push_to_hub(name)
    assert not hub.requests


def test_without_the_client(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=re.escape("textlds[huggingface]")):
        TextLDS.from_pretrained("anna/elsewhere")
    with pytest.raises(MissingExtraError):
        model.push_to_hub(NAME)


def test_a_folder_prepared_for_git(model, tmp_path):
    """A card beside a saved model changes nothing for loading it."""
    model.save(tmp_path / "m")
    (tmp_path / "m" / "README.md").write_text(model_card(model, NAME))
    assert TextLDS.from_pretrained(tmp_path / "m").state_size == 4
    shutil.rmtree(tmp_path / "m")
