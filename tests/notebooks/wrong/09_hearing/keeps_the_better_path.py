"""Of paths that meet in a longer text it keeps the most probable one."""

from collections import defaultdict

import numpy as np

from sampan import learn
from sampan.kernels import speech as kernels


def one_frame(hypotheses, row, blank):
    "{text: [ends in a blank, ends in its last token]} one frame later, in log probabilities."
    new = defaultdict(lambda: [NEVER, NEVER])  # noqa: F821  the notebook's set-up cell has it
    for text, (quiet, spoken) in hypotheses.items():
        both = np.logaddexp(quiet, spoken)
        new[text][ENDS_IN_BLANK] = np.logaddexp(new[text][ENDS_IN_BLANK], both + row[blank])  # noqa: F821  the notebook's set-up cell has it
        for token in range(len(row)):
            if token == blank:
                continue
            last = text[-1:] == (token,)
            if last:
                new[text][ENDS_IN_TOKEN] = np.logaddexp(new[text][ENDS_IN_TOKEN], spoken + row[token])  # noqa: F821  the notebook's set-up cell has it
            more = (*text, token)
            before = quiet if last else both
            new[more][ENDS_IN_TOKEN] = max(new[more][ENDS_IN_TOKEN], before + row[token])  # noqa: F821  the notebook's set-up cell has it
    return new


@learn.exercise("kernels.speech.beam_search", forbid=("beam_search", "prefix_beam", "PrefixBeam", "search"))
def beam_search(logs, begin, blank, beam, tree, fusion, most_tokens, least, history):
    for t in range(begin, len(logs)):
        if beam.counts[1] + beam.node.size > tree.parent.size:
            return t, kernels.FULL
        if not (logs[t] <= 1e-3).all():
            return t, kernels.BAD
        new = one_frame(hypotheses_of(beam, tree), logs[t].astype(np.float64), blank)  # noqa: F821  the notebook's set-up cell has it
        write_best(new, beam, tree, fusion, history)  # noqa: F821  the notebook's set-up cell has it
    return len(logs), 0
