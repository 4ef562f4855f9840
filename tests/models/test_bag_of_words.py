"""Bags of n-grams against scikit-learn's vectoriser; the sparse and the dense path of one model; real reviews."""

import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import sampan as paddle
from sampan import datasets, sparse
from sampan.datasets import labelled_texts
from sampan.models.bag_of_words import BagOfWords, NGrams, Rows

TEXTS = ["房间很大，很干净", "房间太小，不干净", "", "𠮷野家很好吃", "a b", "很", "服务很好很好很好"]


def made(count, seed):
    """Texts of two kinds that share most characters: which of two pairs stands side by side tells them apart."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    pairs = np.array([["好的", "坏的"], ["的坏", "的好"]])
    return [
        "".join(rng.permutation([*rng.choice(list("房间早餐服务前台"), 6), *rng.choice(pairs[k], 3)]))
        for k in labels
    ], labels


@pytest.mark.parametrize("orders", [(1,), (1, 2), (2, 3), (3, 1)])
@pytest.mark.parametrize("weights", ["counts", "tfidf"])
def test_the_features_are_scikit_learns(orders, weights):
    least = 1 if weights == "counts" else 2
    span = (min(orders), max(orders))
    kind = TfidfVectorizer if weights == "tfidf" else CountVectorizer
    oracle = kind(analyzer="char", ngram_range=span, min_df=least, lowercase=False).fit(TEXTS)
    grams = NGrams(orders, least=least, weights=weights).fit(TEXTS)
    names = grams.names()
    assert len(set(names)) == len(names)
    wanted = {n for n in oracle.vocabulary_ if len(n) in orders}
    assert set(names) == wanted
    new = [*TEXTS, "很好的房间 𠮷", "未见"]
    expected = oracle.transform(new)[:, [oracle.vocabulary_[n] for n in names]].toarray()
    if (
        orders == (3, 1) and weights == "tfidf"
    ):  # scikit-learn has no gap in its range: rows have another length
        expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-30)
    found = grams(new)
    assert found.is_sparse_csr() and found.dtype == paddle.float32
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_pieces_are_cut_by_a_function():
    texts = ["a b a", "b c", "", "c"]
    grams = NGrams((1, 2), least=1, weights="counts", pieces=str.split).fit(texts)
    oracle = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\S+").fit(texts)
    names = grams.names()
    assert set(names) == set(oracle.vocabulary_)
    new = ["a b c", "a x b"]  # an unknown piece keeps its neighbours apart
    expected = oracle.transform(new).toarray()[:, [oracle.vocabulary_[n] for n in names]]
    np.testing.assert_array_equal(grams(new).numpy(), expected)


def test_hashed_columns_add_up_and_stay_in_range():
    whole = NGrams((1, 2), least=1, weights="counts").fit(TEXTS)(TEXTS).numpy()
    for width in (1, 2, 1024):
        grams = NGrams((1, 2), features=width, weights="counts").fit(TEXTS)
        found = grams(TEXTS).numpy()
        assert found.shape == (len(TEXTS), width)
        np.testing.assert_array_equal(found.sum(1), whole.sum(1))
        with pytest.raises(ValueError, match="hashed columns"):
            grams.names()
    assert (found > 0).any(0).sum() > 0.9 * whole.shape[1]  # few of some forty meet in 1,024 columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"orders": (0, 1)}, "orders: expected some of 1, 2 and 3"),
        ({"orders": ()}, "orders"),
        ({"features": 100}, "features: expected None or a power of two, got 100"),
        ({"weights": "binary"}, "weights: expected 'counts' or 'tfidf', got 'binary'"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        NGrams(**arguments)


def test_texts_before_fit_and_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"^NGrams: texts: expected fit\(texts\)"):
        NGrams()(TEXTS)
    rows = NGrams(least=1).fit(TEXTS)(TEXTS)
    with pytest.raises(ValueError, match="labels: expected 7, one for each row, got 3"):
        Rows(rows, [0, 1, 0])
    with pytest.raises(ValueError, match="x: expected 5 features in each row"):
        BagOfWords(5, 2)(rows)


def test_batches_are_the_rows_that_were_asked_for():
    matrix = scipy.sparse.random_array(
        (9, 6), density=0.4, rng=np.random.default_rng(0), dtype=np.float32
    ).tocsr()
    labels = np.arange(9)
    for dense in (False, True):
        data = Rows(sparse.from_scipy(matrix), labels, dense)
        asked = [8, 0, 3, 3]
        batch, found = data.__getitems__(asked)
        np.testing.assert_array_equal(batch if dense else batch.numpy(), matrix.toarray()[asked])
        np.testing.assert_array_equal(found[:, 0], asked)
        row, label = data[5]
        np.testing.assert_array_equal(row if dense else row.numpy(), matrix.toarray()[[5]])
        assert label == [5] and len(data) == 9


@pytest.mark.parametrize("hidden", [0, 5])
def test_both_paths_are_one_function(hidden):
    texts, _ = made(20, 0)
    rows = NGrams(least=1).fit(texts)(texts)
    paddle.seed(2)
    net = BagOfWords(rows.shape[1], 3, hidden)
    found = []
    for x in (rows, rows.to_sparse_coo(), rows.to_dense()):
        net.clear_gradients()
        logits = net(x)
        logits.square().sum().backward()
        found.append([logits.numpy(), *(p.grad.numpy() for p in net.parameters())])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    if not hidden:
        weight, bias = (p.numpy() for p in net.parameters())
        np.testing.assert_allclose(found[0][0], rows.numpy() @ weight + bias, rtol=1e-5, atol=1e-6)


def trained(rows, labels, classes, dense=False, epochs=8):
    paddle.seed(3)
    net = BagOfWords(rows.shape[1], classes)
    adam = paddle.optimizer.Adam(0.02, parameters=net.parameters())
    model = paddle.Model(net)
    model.prepare(adam, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(Rows(rows, labels, dense), batch_size=32, epochs=epochs, verbose=0)
    return model


def compared(train, labels, test, answers, classes, epochs=8):
    """Accuracies of the sparse path, the dense path and scikit-learn's logistic regression on the same features."""
    grams = NGrams().fit(train)
    rows, tested = grams(train), grams(test)
    found = []
    for dense in (False, True):
        model = trained(rows, labels, classes, dense, epochs)
        found.append(model.evaluate(Rows(tested, answers, dense), batch_size=64, verbose=0)["acc"])
    oracle = LogisticRegression(C=10, max_iter=100, tol=1e-3).fit(sparse.to_scipy(rows), labels)
    return [*found, oracle.score(sparse.to_scipy(tested), answers)]


def test_made_texts_are_learned_as_by_logistic_regression():
    texts, labels = made(400, 1)
    more, answers = made(200, 2)
    ours, dense, oracle = compared(texts, labels, more, answers, 2)
    assert abs(ours - dense) <= 0.01 and ours >= oracle - 0.04
    assert ours > 0.9


@pytest.mark.parametrize(("name", "least"), [("hotel_reviews", 0.8), ("news_titles", 0.7)])
def test_real_texts_are_learned_as_by_logistic_regression(name, least):
    if name not in datasets.available():
        pytest.skip(f"needs {name} in SAMPAN_DATA")
    bundle = datasets.load_texts(name)
    chosen = np.random.default_rng(0).permutation(len(bundle.train))[:800]
    tested = np.random.default_rng(1).permutation(len(bundle.test))[:500]
    train, test = (
        [part.texts[i] for i in kept] for part, kept in ((bundle.train, chosen), (bundle.test, tested))
    )
    labels, answers = bundle.train.labels[chosen], bundle.test.labels[tested]
    ours, dense, oracle = compared(train, labels, test, answers, len(bundle.card.classes), epochs=5)
    assert abs(ours - dense) <= 0.01 and ours >= oracle - 0.05
    assert ours > least


# --- reading --------------------------------------------------------------------------------------------------------


def card_for(folder, reader, files, train, test):
    """A data set `tiny` in `folder/there`, with a card beside."""
    (folder / "tiny").mkdir(exist_ok=True)
    text = (
        'name = "tiny"\ntitle = "Tiny"\ntitle_zh = "小"\nabout = "Made."\norigin = "made"\nsource = "tests"\nlicence = "none"\n'
        'citation = "none"\nscale = 1\nclasses = ["bad", "good"]\n[schema]\ntexts = "strings"\n[[layouts]]\n'
        f'reader = "{reader}"\ntitle = "t"\nfolder = "there"\ntrain = {train}\ntest = {test}\n'
    )
    for role, path in files.items():
        size, sha256 = path.stat().st_size, datasets.checksums.sha256_of(path)
        text += f'[layouts.files.{role}]\npath = "{path.name}"\nbytes = {size}\nsha256 = "{sha256}"\n'
    (folder / "tiny" / "card.toml").write_text(text, encoding="utf-8")


@pytest.fixture
def there(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "zip"])
def test_a_table_is_divided_for_good_and_no_text_is_in_both_parts(there, packed):
    rows = [f'{i % 2},"text, {i % 40}\nof two lines"' for i in range(100)]
    data = "\ufefflabel,review\r\n" + "\r\n".join(rows) + "\r\n"
    path = there / ("table.zip" if packed else "table.csv")
    if packed:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("table.csv", data)
    else:
        path.write_text(data, encoding="utf-8", newline="")
    arrays = labelled_texts.read_table({"table": path})
    train, test = len(arrays["train_texts"]), len(arrays["test_texts"])
    assert train + test == 100 and 15 <= test <= 25
    card_for(there.parent, "labelled-table", {"table": path}, train, test)
    found = datasets.load_texts("tiny")
    assert not set(found.train.texts) & set(found.test.texts)
    assert len(found.train) == train and found.train.texts[0].startswith("text, ")
    for part in (found.train, found.test):
        numbers = [int(t.split()[1]) for t in part.texts]
        np.testing.assert_array_equal(part.labels, np.array(numbers) % 2)
    for load in (datasets.load, datasets.load_text):
        with pytest.raises(ValueError, match=r"load_texts"):
            load("tiny")
    card_for(there.parent, "labelled-table", {"table": path}, train + 1, test)
    with pytest.raises(ValueError, match=f"the train part has {train} texts, its card says {train + 1}"):
        datasets.load_texts("tiny")


def test_lines_carry_their_label_by_number_or_name(there):
    (there / "a.txt").write_text("很 好\t1\n坏\tbad\n", encoding="utf-8")
    (there / "b.txt").write_text("好\tgood\n", encoding="utf-8")
    files = {"train": there / "a.txt", "test": there / "b.txt"}
    card_for(there.parent, "labelled-lines", files, 2, 1)
    found = datasets.load_texts("tiny")
    assert found.train.texts == ["很 好", "坏"] and found.train.labels.tolist() == [1, 0]
    assert found.test.labels.dtype == np.int64 and found.test.labels.tolist() == [1]
    (there / "b.txt").write_text("好\tneither\n", encoding="utf-8")
    card_for(there.parent, "labelled-lines", files, 2, 1)
    with pytest.raises(ValueError, match=r"labels \['neither'\] are not among bad, good"):
        datasets.load_texts("tiny")
    with pytest.raises(ValueError, match="digits is not a set of labelled texts"):
        datasets.load_texts("digits")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"label,review\n1,good\n0\n", "row 2 has 1 columns"),
        (b"label\n1\n", "no two columns"),
        (b"", "no two columns"),
        (b"label,review\n1,\xff\xfe\n", "not a table of texts in UTF-8"),
        (b'label,review\n1,"open\n', "not a table of texts"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        labelled_texts.read_table({"table": path})
    assert str(path) in str(caught.value)


def test_a_line_without_a_label_is_named(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a\t1\nno label\n")
    with pytest.raises(ValueError, match="line 2 has no tab before a label: 'no label'"):
        labelled_texts.read_lines({"train": path, "test": path})


@pytest.mark.parametrize("name", ["hotel_reviews", "takeaway_reviews", "news_titles"])
def test_a_card_counts_what_the_real_file_holds(name):
    assert datasets.card(name).licence == "not stated by its source"
    if name not in datasets.available():
        pytest.skip(f"needs {name} in SAMPAN_DATA")
    found = datasets.load_texts(name)
    assert len(found.train) == found.layout.train and len(found.test) == found.layout.test
    assert set(found.test.labels) == set(range(len(found.card.classes)))
