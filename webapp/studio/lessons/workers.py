"""Notebook 13: all_reduce in a ring, error feedback."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F = np.float32


def _ring() -> list[Case]:
    four = [np.array([1, 2, 3, 4], F), np.array([10, 20, 30, 40], F)]
    three = [np.array([1, 2, 3], F), np.array([10, 20, 30], F)]
    return [
        Case(
            name=("two workers, four numbers", "两个工作者，四个数"),
            driver="vectors_summed",
            args=(four,),
            expected=[four[0] + four[1]] * 2,
            hint=(
                "The chunks have two numbers each. Step 1: worker 0 sends chunk 0, [1, 2], and worker 1 adds it: [11, 22]; worker 1 sends chunk 1, "
                "[30, 40], and worker 0 adds it: [33, 44]. Step 2: each sends what it has completed, and the other writes it over its own.",
                "每块两个数。第 1 步：0 号发送第 0 块 [1, 2]，1 号加上它得 [11, 22]；1 号发送第 1 块 [30, 40]，0 号加上它得 [33, 44]。第 2 "
                "步：各自发送已完成的块，对方用它覆盖自己的。",
            ),
            dtype="float32",
        ),
        Case(
            name=("two workers, three numbers", "两个工作者，三个数"),
            driver="vectors_summed",
            args=(three,),
            expected=[three[0] + three[1]] * 2,
            hint=(
                "3 is not a multiple of 2: the chunks are [1, 2] and [3]. `values.tensor_split(W)` cuts like this, and its chunks are views: what "
                "is written into a chunk is written into `values`.",
                "3 不是 2 的倍数：两块是 [1, 2] 和 [3]。`values.tensor_split(W)` 就是这样切的，切出的块是视图：写入块就是写入 `values`。",
            ),
            dtype="float32",
        ),
    ]


def _feedback() -> list[Case]:
    first, zeros = np.array([3.0, 1.0], F), np.zeros(2, F)
    second = np.array([0.5, 0.75], F)
    return [
        Case(
            name=("two numbers, only the largest is sent", "两个数，只发送最大的"),
            driver="gradients_sent",
            args=([first, second], zeros, "largest", 1),
            expected=(
                [np.array([3, 0], F), np.array([0, 1.75], F)],
                [np.array([0, 1], F), np.array([0.5, 0], F)],
                "float32",
                [first, second],
            ),
            hint=(
                "Step 0: of [3, 1] the 3 is sent, and 1 is left. Step 1: the gradient [0.5, 0.75] plus what is left is [0.5, 1.75]; 1.75 is "
                "sent, and 0.5 is left.",
                "第 0 步：[3, 1] 中发送 3，剩下 1。第 1 步：梯度 [0.5, 0.75] 加上剩下的，得 [0.5, 1.75]；发送 1.75，剩下 0.5。",
            ),
        ),
        Case(
            name=("signs: too much may be sent as well", "只发符号：也可能发多了"),
            driver="gradients_sent",
            args=([np.array([0.25, -3.0], F)], zeros, "signs", 1),
            expected=(
                [np.array([1, -1], F)],
                [np.array([-0.75, -2], F)],
                "float32",
                [np.array([0.25, -3.0], F)],
            ),
            hint=(
                "1 is sent instead of 0.25: the next gradient must be smaller by 0.75. The residual is what was wanted minus what was sent.",
                "该发 0.25 却发了 1：下一个梯度必须减去 0.75。残差是想发的减去实际发的。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="distributed.ring.all_reduce",
        hints=(
            (
                "Two rounds of W - 1 steps each. In the first, what is received is added; in the second, it is written over. In each step a worker "
                "sends one chunk and receives one: which two, of worker r in step s?",
                "两轮，每轮 W - 1 步。第一轮把收到的加上去，第二轮用收到的覆盖。每一步里，工作者发送一块、接收一块：第 s 步的 r 号，是哪两块？",
            ),
            (
                "First round: send chunk r - s, add to chunk r - s - 1. Then chunk r + 1 is complete. Second round: send chunk r + 1 - s, write "
                "over chunk r - s. All numbers modulo W. Nothing comes: every worker must send before it receives, also an empty chunk. "
                "Workers differ in the last bits with a `wire`: the others got your complete chunk rounded, so round your own.",
                "第一轮：发送第 r - s 块，加到第 r - s - 1 块上。之后第 r + 1 块就完成了。第二轮：发送第 r + 1 - s 块，覆盖第 r - s 块。块号都对 W 取模。"
                "收不到消息：每个工作者都要先发送再接收，空块也要发。给了 `wire` 时各工作者末几位不同：别人得到的是你舍入后的完成块，所以你自己的也要舍入。",
            ),
            (
                "for s in range(W - 1): links.send(chunks[(r - s) % W].to(dtype)); c = chunks[(r - s - 1) % W]; c += "
                "links.receive(len(c), dtype). Then, if W > 1, chunks[(r + 1) % W] is rounded with c.copy_(c.to(dtype)). Then the second loop, "
                "with c.copy_(links.receive(len(c), dtype)).",
                "for s in range(W - 1): links.send(chunks[(r - s) % W].to(dtype)); c = chunks[(r - s - 1) % W]; c += "
                "links.receive(len(c), dtype)。然后，若 W > 1，用 c.copy_(c.to(dtype)) 舍入 chunks[(r + 1) % W]。再写第二个循环，用 "
                "c.copy_(links.receive(len(c), dtype))。",
            ),
        ),
        cases=_ring,
    ),
    Lesson(
        slot="distributed.feedback.with_feedback",
        hints=(
            (
                "Three lines: what should be sent is the gradient plus the residual; `compress` says what is sent; the difference is the new "
                "residual.",
                "三行：应当发送的是梯度加残差；`compress` 给出实际发送的；两者之差就是新的残差。",
            ),
            (
                "Change neither the gradient nor what you return: `residual += gradient` first and `residual -= sent` afterwards goes wrong "
                "where `compress` returns the same memory. Infinity minus infinity is NaN: where the difference is not finite, the residual is 0.",
                "梯度和返回值都不要改动：先 `residual += gradient` 再 `residual -= sent`，在 `compress` "
                "返回同一块内存时就会出错。无穷减无穷是 NaN：差不是有限数的地方，残差为 0。",
            ),
            (
                "In order: wanted = gradient + residual; sent = compress(wanted); left = wanted - sent; residual.copy_(torch.where(left.isfinite(), left, "
                "torch.zeros_like(left))); return sent.",
                "依次写：wanted = gradient + residual；sent = compress(wanted)；left = wanted - "
                "sent；residual.copy_(torch.where(left.isfinite(), left, torch.zeros_like(left)))；return sent。",
            ),
        ),
        cases=_feedback,
    ),
)

PREDICTIONS = (
    Prediction(
        name="workers.link",
        question=(
            "A network has 25 million parameters in float32 (100 MB). 8 workers average the gradients in a ring. How many MB does one link carry "
            "in each step of training?",
            "一个网络有 2500 万个 float32 参数（100 MB）。8 个工作者用环求梯度平均。训练的每一步，一条链路传送多少 MB？",
        ),
        answer=2 * 7 / 8 * 100,
        unit=(" MB", " MB"),
        why=(
            "2 (W - 1) / W times the vector: 2 x 7 / 8 x 100 MB. With 1,000 workers it would be 199.8 MB: the cost hardly grows.",
            "向量的 2 (W - 1) / W 倍：2 x 7 / 8 x 100 MB。若有 1,000 个工作者，则是 199.8 MB：代价几乎不增加。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="workers.server",
        question=(
            "Instead, all 8 workers send their gradients to worker 0, which adds them and sends the sum back to each. How many MB go through the "
            "network card of worker 0 in a step, both directions together?",
            "换一种做法：8 个工作者都把梯度发给 0 号，由它求和再发回给每一个。一步里，0 号的网卡双向一共通过多少 MB？",
        ),
        answer=2 * 7 * 100,
        unit=(" MB", " MB"),
        why=(
            "7 vectors come in and 7 go out. In the ring it is 175 MB out and 175 MB in, for every worker alike.",
            "进来 7 个向量，出去 7 个向量。在环里，每个工作者都一样：出 175 MB，进 175 MB。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="workers.largest",
        question=(
            "4 workers send only the 1 % of the values with the largest magnitudes, each as a place (int32) and a value (float32), and every "
            "worker gets the pairs of all. How many times fewer bytes does a link carry than in the ring with all values?",
            "4 个工作者只发送绝对值最大的 1% 的值，每个值带一个位置（int32）和一个数（float32），每个工作者都得到全部的对。一条链路传送的字节，比用环传全部值少到几分之一（填分母）？",
        ),
        answer=(2 * 3 / 4 * 4) / (3 * 0.01 * 8),
        why=(
            "For each parameter the ring carries 2 x 3 / 4 x 4 = 6 bytes; the pairs are 3 x 0.01 x 8 = 0.24 bytes. The factor is 25 and not 100: "
            "places cost bytes too, and pairs of different workers are not added on the way.",
            "每个参数，环传送 2 x 3 / 4 x 4 = 6 字节；成对发送是 3 x 0.01 x 8 = 0.24 字节。比值是 25 而不是 100：位置也要占字节，而且各工作者的对在途中不会相加。",
        ),
        tolerance=0.01,
    ),
)
