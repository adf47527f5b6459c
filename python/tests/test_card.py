"""Cards for notebooks, and the figure of a model."""

import html.parser
import re
import sys

import numpy as np
import pytest

import pathgcn

NASTY = "<script>alert('x')</script> & \"quoted\""


class Checked(html.parser.HTMLParser):
    """Collects tags and fails on ones that are left open."""

    VOID = {"rect", "path", "circle", "polyline"}

    def __init__(self, card):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(card)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def nasty():
    n = 40
    return pathgcn.Dataset(
        edges=(np.arange(n - 1), np.arange(1, n)),
        features=np.eye(n),
        labels=[f"{NASTY} {i % 14}" for i in range(n)],
        train=np.arange(20),
        val=np.arange(20, 40),
        name=NASTY,
    )


def is_self_contained(card):
    tags = Checked(card).tags
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in tags}
    assert not any(key.startswith("on") or key in ("src", "href") for _, attrs in tags for key in attrs)
    assert "url(" not in card and "@import" not in card and "http" not in card
    assert len(card) < 60_000
    return True


def test_cards_need_nothing_from_outside(karate, trained):
    assert is_self_contained(karate._repr_html_()) and is_self_contained(trained._repr_html_())


def test_text_of_users_is_escaped(nasty, quick):
    model = pathgcn.train(nasty, **quick)
    for card in (nasty._repr_html_(), model._repr_html_()):
        assert is_self_contained(card)
        assert "alert" in card and "<script" not in card


def test_the_card_of_a_model_says_how_good_it_is(trained):
    card = trained._repr_html_()
    assert f"test {trained.scores['test']['accuracy']:.1f} %" in card
    assert f"epoch {trained.info['epoch']}" in card and f"{trained.info['parameters']:,}" in card
    assert len(re.findall("<polyline", card)) == 2 + trained.settings["layers"]
    assert all(key in card for key in trained.settings)


def test_a_model_of_a_file_has_a_card_without_scores(trained):
    card = pathgcn.load_model(trained.to_bytes())._repr_html_()
    assert is_self_contained(card) and "test " not in card.split("</div>")[0].split("head")[-1]


def test_a_long_training_keeps_its_card_small(karate, quick):
    model = pathgcn.train(karate, **{**quick, "epochs": 2000, "patience": 2000})
    assert len(model._repr_html_()) < 30_000


def test_one_epoch_has_a_card(karate, quick):
    assert is_self_contained(pathgcn.train(karate, **{**quick, "epochs": 1})._repr_html_())


@pytest.mark.parametrize("network", sorted(pathgcn.networks()))
def test_every_network_has_a_card(network, karate):
    model = pathgcn.train(karate, model=network, recipe="none", epochs=3, progress=False)
    assert is_self_contained(model._repr_html_())


def test_class_sizes_are_shown(karate):
    sizes = np.bincount(karate.labels)
    assert all(f'<td class="n">{size}</td>' in karate._repr_html_() for size in sizes)


def test_data_without_labels_and_sets_of_graphs_have_cards(many_graphs):
    assert is_self_contained(pathgcn.Dataset(edges=[[0], [1]])._repr_html_())
    assert "graphs" in pathgcn.Dataset(**many_graphs)._repr_html_()


def test_a_model_is_plotted(trained):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figure = trained.plot()
    assert len(figure.axes) == 3
    assert len(figure.axes[2].lines) == trained.settings["layers"] + 1


def test_without_matplotlib_a_plot_says_what_to_install(trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        trained.plot()
