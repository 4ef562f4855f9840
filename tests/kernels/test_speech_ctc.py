import pytest
import torch

from sampan.kernels import speech_ctc

LENGTHS, COUNTS = [6, 4, 3], [2, 1, 3]
LABELS = torch.tensor([[1, 1, 7], [2, -5, 7], [3, 2, 3]])


def test_labels_are_copied_and_checked_up_to_their_ends() -> None:
    labels = LABELS.clone()
    owned, wrong = speech_ctc.owned_labels(labels, COUNTS, 4)
    labels[:] = 9
    assert owned.tolist() == [[1, 1, 0], [2, 0, 0], [3, 2, 3]] and wrong is None
    assert speech_ctc.owned_labels(LABELS.int(), [3, 1, 3], 4)[1] == 7
    assert speech_ctc.owned_labels(LABELS, [2, 2, 3], 4)[1] == -5
    assert speech_ctc.owned_labels(labels[:, :0], [0, 0, 0], 4)[0].shape == (3, 0)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))])  # fmt: skip
def test_both_devices_agree_with_torch_s_autograd(device: str) -> None:
    x = torch.randn(6, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(device)
    labels, _ = speech_ctc.owned_labels(LABELS.to(device), COUNTS, 5)
    g = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, device=device)
    loss, saved = speech_ctc.losses(x, labels, LENGTHS, COUNTS, 0)
    t = x.detach().requires_grad_(True)
    with torch.enable_grad():
        given = t.log_softmax(-1), labels, torch.tensor(LENGTHS), torch.tensor(COUNTS), 0, "none"
        theirs = torch.nn.functional.ctc_loss(*given)
        theirs.backward(g)
    torch.testing.assert_close(loss, theirs.detach())
    torch.testing.assert_close(speech_ctc.slopes(g, x, 0, False, saved), t.grad)
    by_times = speech_ctc.slopes(g, x, 0, True, saved)
    torch.testing.assert_close(by_times, t.grad / torch.tensor(LENGTHS, device=device)[:, None])
