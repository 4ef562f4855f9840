"""The code samples of the project's articles run as they are written, under every way to name the library."""

import subprocess
import sys

import pytest

EMBEDDINGS = """
embedding = nn.Embedding(num_embeddings=50000, embedding_dim=128)
input_ids = paddle.randint(0, 50000, [4, 10])
outputs = embedding(input_ids)                       # the gradient is row-sparse without any flag, because ids are integers

word_emb = nn.Embedding(word_vocab_size, 64); char_emb = nn.Embedding(char_vocab_size, 64)
word_ids = paddle.to_tensor([[123]]); char_ids = paddle.to_tensor([[1, 2, 3, 4]])
char_pooled = paddle.mean(char_emb(char_ids), axis=1, keepdim=True)
combined = paddle.concat([word_emb(word_ids), char_pooled], axis=-1)   # [1, 1, 128]
"""
EMBEDDINGS_SHOWN = """
assert outputs.shape == [4, 10, 128] and combined.shape == [1, 1, 128]
outputs.sum().backward()
assert type(embedding.weight.grad).__name__ == "RowSparse" and embedding.weight.grad.count == 40
"""
SPARSE = """
import paddle.sparse as sparse
table = sparse.Embedding(num_embeddings=1e8, embedding_dim=64, sparse=True)   # a float as a size
indices = paddle.to_tensor([[1, 3, 5], [2, 4, 6]], dtype="int64")
output = table(indices)
"""
SPARSE_SHOWN = """
assert output.shape == [2, 3, 64] and len(table) == 6
output.sum().backward()
paddle.optimizer.SGD(1.0, parameters=table.parameters()).step()
"""
NAMED = {
    "alias": "import sampan as paddle\nfrom sampan import nn\n",
    "installed": "from sampan import compat\ncompat.install()\nimport paddle\nfrom paddle import nn\n",
    "by hand": "import sys, sampan\nsys.modules['paddle'] = sampan\nimport paddle\nimport paddle.nn as nn\n",
}


@pytest.mark.parametrize(
    ("code", "ways"),
    [
        (f"word_vocab_size, char_vocab_size = 200, 50\n{EMBEDDINGS}{EMBEDDINGS_SHOWN}", list(NAMED)),
        # it says `import paddle`, so that name must be there
        (SPARSE + SPARSE_SHOWN, ["installed", "by hand"]),
        (SPARSE.replace("import paddle.sparse", "import sampan.sparse") + SPARSE_SHOWN, ["alias"]),
    ],
)
def test_as_written(code, ways):
    for way in ways:
        subprocess.run([sys.executable, "-c", NAMED[way] + code], check=True)
