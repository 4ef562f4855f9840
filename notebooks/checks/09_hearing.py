"""Hidden checks of notebook 09. Oracles: SciPy's windows, NumPy's and torch's Fourier transforms, torch's CTC loss in float64, all
paths of short sequences written down, and a prefix beam search of its own."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby, product

import numpy as np
import scipy.signal
import torch

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

D, F, L = np.float64, np.float32, np.int64
COMPILING = 20.0  # seconds: the first call waits for numba
TIGHT = {"rtol": 1e-4, "atol": 1e-4}
FAST_TRANSFORMS = ("fft", "rfft", "fft2", "rfft2", "fftn", "rfftn", "stft", "spectrogram", "Spectrogram", "MelSpectrogram", "frame", "unfold", "sliding_window_view", "as_strided")  # fmt: skip
LIBRARY = ("sampan.kernels", "sampan.audio", "scipy", "librosa", "torchaudio")


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape)


# --- the window ---------------------------------------------------------------------------------------------------


def get_window(rng: np.random.Generator) -> Iterator[Case]:
    period: Text = (
        "A periodic window has the period `length`, a symmetric one `length - 1`: the parameter `periodic` says which.",
        "周期窗的周期是 `length`，对称窗是 `length - 1`：由参数 `periodic` 决定。",
    )
    a: Text = (
        "The window is a - (1 - a) cos(...): `a` is 0.5 only for Hann. Hamming's begins with 0.08.",
        "窗函数为 a - (1 - a) cos(...)：只有 Hann 窗的 `a` 是 0.5。Hamming 窗从 0.08 开始。",
    )
    for label, label_zh, name, periodic, hint in (
        ("a periodic Hann window", "周期 Hann 窗", "hann", True, period),
        ("a symmetric Hann window", "对称 Hann 窗", "hann", False, period),
        ("a periodic Hamming window", "周期 Hamming 窗", "hamming", True, a),
        ("a symmetric Hamming window", "对称 Hamming 窗", "hamming", False, a),
    ):
        length = int(rng.integers(120, 400))
        expected = scipy.signal.get_window(name, length, fftbins=periodic)
        yield Case((label, label_zh), "window_made", (name, length, periodic), expected, hint)
    x, size = draw(rng, 2, 300), int(rng.integers(15, 25)) * 2
    names = "powers, through the library's Spectrogram", "功率，经过库的 Spectrogram"
    expected = np.abs(transformed(x, size, 11, scipy.signal.get_window("hamming", size))) ** 2
    yield Case(names, "powers", (x.astype(F), size, 11, "hamming", False), expected, a, **TIGHT)


# --- frames and frequencies ---------------------------------------------------------------------------------------


def transformed(x: np.ndarray, n_fft: int, hop: int, window: np.ndarray) -> np.ndarray:
    """[batch, frequencies, frames], by NumPy's fast transform."""
    frames = np.lib.stride_tricks.sliding_window_view(x, n_fft, axis=-1)[:, ::hop]
    return np.fft.rfft(frames * window, axis=-1).transpose(0, 2, 1)


def stft(rng: np.random.Generator) -> Iterator[Case]:
    count: Text = (
        "There are 1 + (samples - length) // hop frames: also the one that ends exactly with the last sample, and none beyond it.",
        "帧数为 1 + (样本数 - length) // hop：恰好在最后一个样本处结束的那一帧也算，超出的不算。",
    )
    sign: Text = (
        "The imaginary part is minus the sum of x sin(2 pi k n / N). The power does not show its sign.",
        "虚部是 x sin(2 pi k n / N) 之和的相反数。从功率看不出它的符号。",
    )
    dtype: Text = (
        "The matrices of cosines and sines have the dtype of the frames: float64 for a float64 signal.",
        "余弦和正弦矩阵的 dtype 与帧相同：float64 信号用 float64。",
    )
    for name, name_zh, size, hop, extra in (
        ("the last frame ends with the last sample", "最后一帧恰好结束于最后一个样本", 16, 6, 0),
        ("samples that are left over", "末尾有剩余样本", 24, 10, 7),
        ("an odd number of samples in a frame", "每帧的样本数为奇数", 15, 5, 3),
        ("frames with gaps between them", "帧与帧之间有间隔", 12, 20, 4),
    ):
        x = draw(rng, 2, size + hop * int(rng.integers(5, 9)) + extra)
        found = transformed(x, size, hop, scipy.signal.get_window("hann", size))
        expected = found.real, found.imag
        hint = sign if extra == 3 else count
        yield Case((name, name_zh), "parts_of_stft", (x, size, hop, size), expected, hint, **TIGHT)
    x = draw(rng, 1, 400)
    window = np.pad(scipy.signal.get_window("hann", 20), 6)
    found = transformed(x, 32, 9, window)
    names = "a window that is shorter than the transform", "比变换短的窗函数"
    yield Case(names, "parts_of_stft", (x, 32, 9, 20), (found.real, found.imag), sign, **TIGHT)
    x = draw(rng, 1, 130)
    found = transformed(x, 20, 7, scipy.signal.get_window("hann", 20))
    names = "float64: ten digits are right", "float64：十位数字都正确"
    tight = {"rtol": 1e-10, "atol": 1e-10, "dtype": "float64"}
    yield Case(names, "parts_of_stft", (x, 20, 7, 20), (found.real, found.imag), dtype, **tight)
    x, size, hop = draw(rng, 2, 200), 18, 8
    leaf = torch.tensor(x, requires_grad=True)
    window = torch.from_numpy(scipy.signal.get_window("hann", size))
    powers = torch.fft.rfft(leaf.unfold(-1, size, hop) * window).abs().square().transpose(1, 2)
    g = draw(rng, *powers.shape)
    powers.backward(torch.tensor(g))
    assert leaf.grad is not None
    expected = powers.detach().numpy(), leaf.grad.numpy()
    names = "powers and their gradient, through the library", "功率及其梯度，经过库"
    yield Case(names, "powers_and_gradient", (x, size, hop, g), expected, sign, **TIGHT)
    x = draw(rng, 1, 90)
    mirrored = np.pad(x, ((0, 0), (8, 8)), mode="reflect")
    expected = np.abs(transformed(mirrored, 16, 5, scipy.signal.get_window("hann", 16))) ** 2
    names = "centred frames, through the library", "居中的帧，经过库"
    yield Case(names, "powers", (x.astype(F), 16, 5, "hann", True), expected, count, **TIGHT)


# --- the mel bank -------------------------------------------------------------------------------------------------


def bank(rate: int, n_fft: int, filters: int, low: float, high: float) -> np.ndarray:
    """Triangles by interpolation between their corners."""
    mel = np.linspace(*(1127.010480 * np.log(1 + f / 700) for f in (low, high)), filters + 2)
    edges, bins = 700 * np.expm1(mel / 1127.010480), np.linspace(0, rate / 2, n_fft // 2 + 1)
    return np.array([np.interp(bins, edges[i : i + 3], [0, 1, 0]) for i in range(filters)])


def compute_fbank_matrix(rng: np.random.Generator) -> Iterator[Case]:
    ends: Text = (
        "The first edge is `low` and the last one `high`, whatever they are; between them the steps are equal in mel.",
        "第一个边界是 `low`，最后一个是 `high`，不论它们是多少；中间按梅尔等距。",
    )
    clipped: Text = (
        "Outside of its triangle a filter is 0, where the smaller of both sides is negative. Inside, its sides are straight in Hz: only "
        "its corners are found in mel.",
        "在三角形之外，滤波器为 0，那里两条边中较小的一个是负数。在三角形之内，边按 Hz 是直线：只有三个角按梅尔求出。",
    )
    straight: Text = (
        "The sides of a triangle are straight in Hz. Only its corners are found in mel.",
        "三角形的边按 Hz 是直线。只有它的三个角是按梅尔求出的。",
    )
    close = {"rtol": 1e-3, "atol": 1e-4}
    for name, name_zh, filters, low, share, hint in (
        ("many filters", "滤波器较多", 20, 0.0, 1.0, clipped),
        ("from a low frequency on", "从某个低频开始", 9, float(rng.uniform(100, 400)), 1.0, ends),
        ("below half of the rate", "上限低于采样率的一半", 7, 30.0, float(rng.uniform(0.5, 0.8)), ends),
        ("two wide filters", "两个宽滤波器", 2, 0.0, 1.0, straight),
    ):
        rate, size = int(rng.integers(8, 20)) * 1000, int(rng.integers(100, 200)) * 2
        args = rate, size, filters, low, share * rate / 2
        yield Case((name, name_zh), "bank_made", args, bank(*args), hint, **close)
    x = draw(rng, 2, 900)
    mirrored = np.pad(x, ((0, 0), (32, 32)), mode="reflect")
    powers = np.abs(transformed(mirrored, 64, 32, scipy.signal.get_window("hann", 64))) ** 2
    low = float(rng.uniform(50, 200))
    names = "energies, through the library's MelSpectrogram", "能量，经过库的 MelSpectrogram"
    expected = bank(8000, 64, 6, low, 4000.0) @ powers
    yield Case(names, "mel_energies", (x, 8000, 64, 6, low), expected, ends, rtol=1e-3, atol=1e-3)


# --- CTC ----------------------------------------------------------------------------------------------------------


def spelled(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(token for token, _ in groupby(path) if token != blank)


def enumerated(x: np.ndarray, labels: list[list[int]], blank: int) -> tuple[np.ndarray, np.ndarray]:
    """(losses, occupancy [time, batch, 1 + tokens]) of logits [time, batch, classes]: every path is written down."""
    frames, batch, classes = x.shape
    losses, shares = np.zeros(batch), np.zeros((frames, batch, 1 + max(map(len, labels))))
    for b, label in enumerate(labels):
        y = np.exp(x[:, b]) / np.exp(x[:, b]).sum(1, keepdims=True)
        total = 0.0
        for path in product(range(classes), repeat=frames):
            if spelled(path, blank) != tuple(label):
                continue
            weight, token = float(np.prod(y[np.arange(frames), path])), 0
            total += weight
            for t, k in enumerate(path):
                token += k != blank and (t == 0 or path[t - 1] != k)
                shares[t, b, token if k != blank else 0] += weight
        losses[b] = -np.log(total)
        shares[:, b] /= total
    return losses, shares


def torch_ctc(
    x: np.ndarray, labels: np.ndarray, lengths: np.ndarray, counts: np.ndarray, blank: int, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(losses, gradient of the logits) by torch, in float64."""
    leaf = torch.tensor(x, requires_grad=True)
    given = torch.tensor(labels), torch.tensor(lengths), torch.tensor(counts)
    losses = torch.nn.functional.ctc_loss(leaf.log_softmax(-1), *given, blank=blank, reduction="none")
    losses.backward(torch.tensor(g))
    assert leaf.grad is not None
    return losses.detach().numpy(), leaf.grad.numpy()


def batch_of(
    rng: np.random.Generator, frames: int, batch: int, classes: int, tokens: int, blank: int = 0
) -> tuple[np.ndarray, ...]:
    """(logits, labels, lengths, counts) that fit: labels without the blank."""
    counts = rng.integers(1, tokens + 1, batch)
    labels = rng.integers(1, classes, (batch, tokens))
    labels = np.where(labels <= blank, labels - 1, labels)
    lengths = np.maximum(2 * counts, rng.integers(frames // 2, frames + 1, batch))
    return draw(rng, frames, batch, classes), labels, lengths, counts


def ctc_paths(rng: np.random.Generator) -> Iterator[Case]:
    equal: Text = (
        "Two equal tokens need a blank between them: the third term is only allowed where `skip` says so.",
        "两个相同的词元之间需要空白：第三项只在 `skip` 允许之处才有。",
    )
    twice: Text = (
        "If the losses are wrong: alpha has three terms, the state itself, the one before, and the second before where `skip` allows "
        "it. If only the occupancy is wrong: alpha and beta both contain the emission of the frame, and it is subtracted once (logs).",
        "如果损失不对：alpha 有三项，即状态自己、前一个状态，以及 `skip` 允许时的前面第二个状态。如果只有占据概率不对：alpha 和 beta 都含有本帧的发射概率，要减去一次（logs）。",
    )
    small: Text = (
        "The probability of hundreds of frames is smaller than any float64. Stay in logarithms: np.logaddexp adds without leaving them.",
        "几百帧的概率比任何 float64 都小。请一直用对数：np.logaddexp 不离开对数就能相加。",
    )
    for name, name_zh, labels, blank, hint in (
        ("different tokens", "词元各不相同", [[1, 2], [2, 1]], 0, twice),
        ("equal tokens", "相同的词元", [[1, 1], [2, 2]], 0, equal),
        ("equal ones beside others", "相同与不同相邻", [[1, 2, 2], [2, 1, 1]], 0, equal),
        ("another blank", "另一个空白", [[0, 1, 0], [1, 1]], 2, twice),
    ):
        x = draw(rng, 6, len(labels), 3)
        padded = np.array([label + [label[-1]] * (max(map(len, labels)) - len(label)) for label in labels])
        counts = np.array([len(label) for label in labels])
        losses, shares = enumerated(x, labels, blank)
        args = x, padded, np.full(len(labels), 6), counts, blank
        yield Case((name, name_zh), "occupancies", args, (losses, shares), hint, **TIGHT)
    for name, name_zh, frames, tokens in (("a batch, through ctc_loss", "一批，经过 ctc_loss", 30, 6), ("thousands of frames, through ctc_loss", "几千帧，经过 ctc_loss", 2400, 12)):  # fmt: skip  # a table of two cases
        given = batch_of(rng, frames, 3, 5, tokens)
        given[2][0] = (
            frames  # whatever was drawn: of 600 frames the probability was now and then above the least float64
        )
        g = rng.uniform(0.5, 2, 3)
        expected = torch_ctc(*given, 0, g)
        hint = small if frames > 100 else twice
        yield Case((name, name_zh), "ctc_through_the_library", (*given, 0, g), expected, hint, **TIGHT)


def ctc_slopes(rng: np.random.Generator) -> Iterator[Case]:
    repeated: Text = (
        "The gradient is y minus the occupancy. A token that is in the label several times is subtracted several times: slopes[:, label] "
        "-= ... does it once for equal indices.",
        "梯度是 y 减去占据概率。在标签中出现几次的词元，就要减几次：slopes[:, label] -= ... 对相同的下标只减一次。",
    )
    other: Text = (
        "The first column of `occupied` belongs to the class `blank`, which need not be class 0.",
        "`occupied` 的第一列属于类别 `blank`，它不一定是类别 0。",
    )
    for name, name_zh, classes, tokens, blank, divide, hint in (
        ("many tokens, some of them equal", "词元较多，有的相同", 4, 7, 0, False, repeated),
        ("one token again and again", "同一个词元反复出现", 2, 5, 0, False, repeated),
        ("the blank is the last class", "空白是最后一个类别", 6, 5, 5, False, other),
        ("divided by the number of frames", "除以帧数", 5, 4, 0, True, repeated),
    ):
        given = batch_of(rng, 24, 3, classes, tokens, blank)
        g = rng.uniform(0.5, 2, 3)
        _, expected = torch_ctc(*given, blank, g / given[2] if divide else g)
        yield Case((name, name_zh), "slopes", (*given, blank, divide, g), expected, hint, **TIGHT)
    given, g = batch_of(rng, 40, 4, 6, 8, 2), rng.uniform(0.5, 2, 4)
    names = "through the library's ctc_loss", "经过库的 ctc_loss"
    expected = torch_ctc(*given, 2, g)
    yield Case(names, "ctc_through_the_library", (*given, 2, g), expected, other, **TIGHT)


# --- prefix beam --------------------------------------------------------------------------------------------------


def all_texts(logs: np.ndarray, blank: int) -> dict[tuple[int, ...], float]:
    """The probability of every text: every path is written down."""
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        found[spelled(path, blank)] += float(np.exp(logs[np.arange(len(logs)), path].sum()))
    return found


def searched(logs: np.ndarray, size: int, blank: int) -> dict[tuple[int, ...], float]:
    """The probabilities of the texts that a beam of that size keeps: each text collects from those before it."""
    beam = {(): (1.0, 0.0)}
    for row in np.exp(logs):
        totals = {text: a + b for text, (a, b) in beam.items()}
        texts = set(beam) | {(*text, k) for text in beam for k in range(len(row)) if k != blank}
        new = {}
        for text in texts:
            stay = beam.get(text, (0.0, 0.0))[1]
            shorter, last = text[:-1], text[-1:]
            come = 0.0
            if text and shorter in beam:
                come = beam[shorter][0] if shorter[-1:] == last else totals[shorter]
            spoken = (stay + come) * row[last[0]] if text else 0.0
            new[text] = totals.get(text, 0.0) * row[blank], spoken
        beam = dict(sorted(new.items(), key=lambda item: -sum(item[1]))[:size])
    return {text: sum(pair) for text, pair in beam.items()}


def beam_case(rng: np.random.Generator, names: Text, hint: Text, shape: tuple[int, int, int], size: int, best: int, blank: int = 0, sure: float = 1.0) -> Case:  # fmt: skip
    """Random frames; where the beam holds every text, all paths are the oracle."""
    logits = draw(rng, *shape) * sure
    logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    scores, texts = np.zeros((shape[0], best)), np.full((shape[0], best, shape[1]), -1)
    for n, each in enumerate(logs):
        found = all_texts(each, blank) if size >= 300 else searched(each, size, blank)
        for place, (text, score) in enumerate(sorted(found.items(), key=lambda item: -item[1])[:best]):
            scores[n, place], texts[n, place, : len(text)] = score, text
    return Case(names, "texts_found", (logs, size, blank, best), (scores, texts), hint, rtol=1e-4)


def beam_search(rng: np.random.Generator) -> Iterator[Case]:
    repeat: Text = (
        "The last token again makes the text longer only for paths that ended in a blank; paths that ended in the token stay in the text.",
        "又是最后那个词元时，只有以空白结尾的路径使文字变长；以这个词元结尾的路径文字不变。",
    )
    added: Text = (
        "Paths that meet in one text are added up, wherever they come from: np.logaddexp of what is there already.",
        "在同一段文字会合的路径要相加，不论从哪里来：与已有的数做 np.logaddexp。",
    )
    blank: Text = (
        "The blank is the class `blank`, which need not be class 0. It never makes a text longer.",
        "空白是类别 `blank`，不一定是类别 0。它从不使文字变长。",
    )
    yield beam_case(rng, ("every text of four frames", "四帧的全部文字"), repeat, (8, 4, 3), 300, 6)
    yield beam_case(rng, ("one token and the blank", "一个词元和空白"), repeat, (10, 6, 2), 300, 3)
    yield beam_case(rng, ("the blank is the last class", "空白是最后一个类别"), blank, (6, 4, 3), 300, 6, 2)
    yield beam_case(rng, ("a beam of three", "宽度为三的束"), added, (8, 9, 4), 3, 3, sure=2.0)
    yield beam_case(
        rng, ("long sequences, a beam of four", "较长的序列，宽度为四的束"), added, (4, 30, 3), 4, 2, sure=3.0
    )


EXERCISES = [
    Exercise("speech.spectrogram.get_window", 1, "The window", "窗函数", get_window, ("hanning", "hamming", "hann_window", "hamming_window", "get_window", "general_hamming", "general_cosine", "windows", "window_of", *LIBRARY), seconds=COMPILING),
    Exercise("speech.spectrogram.stft", 3, "Frames and their frequencies", "分帧与频率", stft, (*FAST_TRANSFORMS, *LIBRARY, "hfft", "ihfft", "_transform", "fft_r2c", "_fft_r2c", "fbank", "mfcc"), seconds=COMPILING),
    Exercise("speech.spectrogram.compute_fbank_matrix", 2, "The mel filter bank", "梅尔滤波器组", compute_fbank_matrix, ("compute_fbank_matrix", "mel_frequencies", "mel_bank", "hz_to_mel", "mel_to_hz", "mel", "melscale_fbanks", "filters", *LIBRARY), seconds=COMPILING),
    Exercise("kernels.cpu_speech_ctc.ctc_paths", 3, "The sum over all paths", "所有路径之和", ctc_paths, ("ctc_loss", "_ctc_loss", "CTCLoss", "ctc", "ctc_paths", "_sum_paths", "_sum_loop", "_lattice", "losses", "align", "autograd", "backward"), seconds=COMPILING),
    Exercise("kernels.cpu_speech_ctc.ctc_slopes", 2, "The gradient of CTC", "CTC 的梯度", ctc_slopes, ("ctc_loss", "_ctc_loss", "_ctc_loss_backward", "CTCLoss", "ctc", "ctc_slopes", "_write_slopes", "_slope_loop", "slopes", "autograd", "backward", "grad"), seconds=COMPILING),
    Exercise("kernels.speech.beam_search", 3, "Prefix beam search", "前缀束搜索", beam_search, ("beam_search", "prefix_beam", "PrefixBeam", "search", "_stay", "cpu_speech_beam", "ctc_beam_search", "pyctcdecode", "BeamSearchDecoder"), seconds=COMPILING),
]  # fmt: skip  # a table
