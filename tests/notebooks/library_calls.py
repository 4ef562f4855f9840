"""For each exercise the calls of a library that compute its answer, or most of it, in the place of the learner.

Each has to break the exercise's rule, as a wrong solution has to be caught (`test_checks.py`).
"""

BACKWARD = (
    "torch.autograd.grad(x * y, (x, y), gradient)",
    "(x * y).backward(gradient)",
    "torch.func.vjp(torch.mul, x, y)",
    "paddle.grad(x * y, [x, y])",
    "x.requires_grad_()",
)
PRODUCTS = (
    *(
        "x @ y",
        "x.matmul(y)",
        "torch.matmul(x, y)",
        "np.matmul(x, y)",
        "paddle.matmul(x, y)",
        "x.__matmul__(y)",
    ),
    *(
        "x.mm(y)",
        "torch.mm(x, y)",
        "paddle.mm(x, y)",
        "x.bmm(y)",
        "paddle.bmm(x, y)",
        "np.dot(x, y)",
        "x.dot(y)",
    ),
    *(
        "torch.addmm(bias, x, y)",
        "torch.baddbmm(bias, x, y)",
        "torch.einsum('ik,kj->ij', x, y)",
        "np.inner(x, y.T)",
    ),
    *(
        "np.einsum('ik,kj->ij', x, y)",
        "paddle.einsum('ik,kj->ij', x, y)",
        "torch.tensordot(x, y, 1)",
        "np.vdot(x, y)",
    ),
    *("np.tensordot(x, y, 1)", "torch.nn.functional.linear(x, y.T)", "paddle.nn.functional.linear(x, y)"),
    *("torch.linalg.multi_dot([x, y])", "np.linalg.multi_dot([x, y])", "torch.chain_matmul(x, y)", "x.mv(y)"),
    *("scipy.linalg.blas.sgemm(1.0, x, y)", "scipy.sparse.csr_matrix(x) * y", "x.to_sparse() * y"),
    *("torch.nn.functional.conv1d(x, y)", "torch.ops.aten.mm(x, y)", "torch._C._VariableFunctions.mm(x, y)"),
    *("getattr(x, 'matmul')(y)", "operator.methodcaller('matmul', y)(x)", "torch.__dict__['matmul'](x, y)"),
    *("eval('x.matmul(y)')", "sampan.ops.linalg.mm(x, y)", "paddle.ops.linalg.batched_matmul(x, y)"),
    *("paddle.linalg.multi_dot([x, y])", "sampan.kernels.cpu_matmul.run(x, y)", "torch.Tensor.matmul(x, y)"),
    *("__import__('scipy').linalg.blas.dgemm(1.0, x, y)", "paddle.inner(x, y)", "paddle.outer(x, y)"),
)
CALLS = {
    "ops.relu": (
        *(
            "torch.relu(x)",
            "x.relu()",
            "torch.nn.functional.relu(x)",
            "paddle.nn.functional.relu(x)",
            "paddle.relu(x)",
        ),
        *(
            "torch.nn.functional.leaky_relu(x, 0)",
            "torch.threshold(x, 0, 0)",
            "paddle.nn.ReLU()(x)",
            "x.relu_()",
        ),
    ),
    "autograd.unbroadcast": (
        *("gradient.sum_to_size(shape)", "torch.Tensor.sum_to_size(gradient, shape)", *BACKWARD),
        *("sampan.autograd.unbroadcast(gradient, shape)", "paddle.autograd.unbroadcast(gradient, shape)"),
    ),
    "ops.multiply": (*BACKWARD, "paddle.multiply(x, y)", "torch.multiply(x, y)", "sampan.ops.multiply(x, y)"),
    "autograd.topological_order": (
        *(
            "sorted(nodes, key=lambda node: node.sequence)",
            "graphlib.TopologicalSorter(graph).static_order()",
        ),
        *("networkx.topological_sort(graph)", "operator.attrgetter('sequence')(node)"),
        *("sampan.autograd.topological_order(roots)", "paddle.autograd.topological_order(roots)"),
    ),
    "kernels.sgd_step": (
        *("torch.optim.SGD(parameters, lr).step()", "torch._fused_sgd_(parameters, gradients)"),
        *("torch.optim._functional.sgd(parameters)", "paddle.optimizer.SGD(lr, parameters)"),
        *(
            "sampan.kernels.sgd_step(parameters, gradients, lr)",
            "sampan.kernels.cpu_optimizer.sgd_step(parameters)",
        ),
        "torch._foreach_add_(parameters, gradients, alpha=-lr)",
    ),
    "kernels.adam_step": (
        *("torch.optim.Adam(parameters, lr).step()", "torch._fused_adam_(parameters, gradients)"),
        *("torch.optim._functional.adam(parameters)", "paddle.optimizer.Adam(lr, parameters)"),
        *("sampan.kernels.adam_step(parameters)", "sampan.kernels.cpu_optimizer.rule_step(parameters)"),
        "paddle.optimizer.AdamW(lr, parameters)",
    ),
    "hapi.train_epoch": (
        *("paddle.Model(network).fit(batches)", "model.train_batch(inputs, labels)"),
        *("sampan.hapi.train_epoch(network)", "sampan.hapi.loop.train_epoch(network)"),
    ),
    "ops.linalg.mm": PRODUCTS,
    "ops.linalg.affine": (*PRODUCTS, "sampan.ops.linalg.affine(x, y, bias)", "paddle.nn.Linear(3, 4)(x)"),
    "ops.linalg.batched_matmul": PRODUCTS,
    "nn.functional.conv2d": (
        *("torch.nn.functional.conv2d(x, weight)", "torch.conv2d(x, weight)", "torch.convolution(x, weight)"),
        *(
            "paddle.nn.functional.conv2d(x, weight)",
            "F.conv2d(x, weight)",
            "F.conv3d(x, weight)",
            "F.unfold(x, 3)",
        ),
        *(
            "F.conv2d_transpose(x, weight)",
            "paddle.nn.Conv2D(1, 1, 3)(x)",
            "scipy.signal.correlate2d(x, weight)",
        ),
        *("sampan.ops.convolution.convolve(x, weight)", "torch.ops.aten.convolution(x, weight)"),
        *("torch.nn.functional.unfold(x, 3)", "torch._C._nn.slow_conv2d(x, weight)", "F.conv1d(x, weight)"),
    ),
    "nn.LSTMCell.forward": (
        *(
            "torch.lstm_cell(x, h)",
            "torch.nn.LSTMCell(3, 4)(x)",
            "paddle.nn.LSTMCell(3, 4)(x)",
            "nn.LSTM(3, 4)(x)",
        ),
        *("nn.LSTMCell.forward(self, x)", "super(type(self), self).forward(x)", "torch._VF.lstm_cell(x, h)"),
        *("torch._thnn_fused_lstm_cell(x, h)", "sampan.nn.rnn.CELLS[self.mode](x)"),
    ),
    "nn.functional.scaled_dot_product_attention": (
        *(
            "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
            "F.scaled_dot_product_attention(q, k, v)",
        ),
        *("F.flash_attention.flash_attention(q, k, v)", "paddle.nn.MultiHeadAttention(3, 1)(q)"),
        *("torch._C._nn.scaled_dot_product_attention(q, k, v)", "sampan.ops.attention(q, k, v)"),
        *("torch.ops.aten._scaled_dot_product_attention_math(q, k, v)", "F.sparse_attention(q, k, v)"),
    ),
    "kernels.sparse.grouped": (
        *(
            "sorted(zip(rows, cols))",
            "np.lexsort((cols, rows))",
            "np.argsort(rows)",
            "rows.sort()",
            "torch.sort(rows)",
        ),
        *(
            "np.unique(rows)",
            "scipy.sparse.coo_matrix((rows, cols)).tocsr()",
            "torch.unique(rows)",
            "heapq.merge(rows)",
        ),
        *("torch.sparse_coo_tensor(rows, cols).coalesce()", "kernels.sparse.grouped(rows, cols, height)"),
        *(
            "paddle.sparse.sparse_coo_tensor(rows, cols)",
            "kernels.cpu_sparse_structure.grouped(rows, cols, height)",
        ),
    ),
    "kernels.sparse.spmm": (
        *("torch.sparse.mm(rows, x)", "scipy.sparse.csr_matrix((values, cols, crows)) * x", "values @ x"),
        *("paddle.sparse.matmul(rows, x)", "kernels.sparse.spmm(cuts, crows, cols, values, x, out)"),
        *(
            "np.dot(values, x)",
            "torch.sparse_csr_tensor(crows, cols, values) * x",
            "operators.spmm(values, x, rows)",
        ),
        *("kernels.cpu_sparse_dense.spmm(crows)", "out.index_add_(0, rows, x)"),
    ),
    "kernels.sparse.sddmm": (
        *(
            "torch.sparse.sampled_addmm(rows, x, y)",
            "x @ y.T",
            "np.einsum('ij,ij->i', x, y)",
            "np.inner(x, y)",
        ),
        *(
            "operators.sddmm(x, y, rows)",
            "kernels.sparse.sddmm(cuts, crows, cols, x, y, out)",
            "np.outer(x, y)",
        ),
        *("paddle.sparse.masked_matmul(x, y, rows)", "np.vdot(x, y)"),
    ),
    "sparse.operators.spmm": (
        *("values.to_dense()", "rows @ x", "torch.sparse.mm(rows, x)", "paddle.sparse.matmul(rows, x)"),
        *(
            "scipy.sparse.csr_matrix(rows)",
            "operators.spmm(values, x, rows)",
            "sampan.sparse.operators.spmm(values, x)",
        ),
    ),
    "sparse.rulebook.neighbours": (
        *("scipy.spatial.cKDTree(places)", "sampan.sparse.rulebook.neighbours(places, offsets, shape)"),
        *("paddle.sparse.nn.functional.subm_conv3d(x, weight)", "kernels.sparse.mutual_neighbours(places)"),
    ),
    "ops.embedding.rows_at": (
        *(
            "torch.embedding(weight, x)",
            "torch.nn.functional.embedding(x, weight)",
            "weight.index_select(0, x)",
        ),
        *(
            "paddle.nn.functional.embedding(x, weight)",
            "paddle.nn.Embedding(3, 4)(x)",
            "torch.index_select(weight, 0, x)",
        ),
        *("sampan.kernels.cpu_embedding.rows_read(weight, x)", "sampan.ops.embedding.rows_at(x, weight)"),
    ),
    "ops.embedding.rows_summed": (
        *("np.add.at(out, ids, rows)", "out.index_add_(0, ids, rows)", "out.scatter_add_(0, ids, rows)"),
        *(
            "out.index_put_((ids,), rows, accumulate=True)",
            "torch.embedding_backward(g, x)",
            "np.bincount(ids, rows)",
        ),
        *(
            "torch.ops.aten.embedding_dense_backward(g, x)",
            "sampan.ops.embedding.rows_summed(g, x, 3, 0, False)",
        ),
        *(
            "torch.sparse_coo_tensor(ids, rows).to_dense()",
            "scipy.sparse.coo_matrix(rows)",
            "paddle.scatter(out, ids, g)",
        ),
    ),
    "row_sparse.RowSparse.coalesced": (
        *(
            "torch.sparse_coo_tensor(ids, rows).coalesce()",
            "np.unique(ids)",
            "torch.unique(ids)",
            "self.coalesced()",
        ),
        *(
            "type(self).coalesced(self)",
            "pandas.DataFrame(rows).groupby(ids).sum()",
            "out.index_add_(0, ids, rows)",
        ),
        *("sampan.kernels.cpu_embedding.merged(ids, rows)", "scipy.sparse.coo_matrix(rows)"),
    ),
    "optimizer.Adagrad.update_rows": (
        *(
            "self.step()",
            "torch.optim.Adagrad([table]).step()",
            "paddle.optimizer.Adagrad(lr)",
            "np.unique(ids)",
        ),
        *(
            "self.update(table, gradient)",
            "self.rule.step(table)",
            "sampan.kernels.cpu_optimizer.rule_step(table)",
        ),
    ),
    "kernels.cpu_embedding_cache.ask": (
        *("sampan.kernels.cpu_embedding_cache.ask(rows)", "kernels.cpu_embedding_cache.ask(rows)"),
        *("functools.lru_cache(rows)", "sampan.embedding.Cached(rows)", "cachetools.LRUCache(3)"),
    ),
    "kernels.graph.compress": (
        *(
            "np.argsort(rows)",
            "sorted(zip(rows, columns))",
            "np.lexsort((columns, rows))",
            "torch.sort(rows)",
        ),
        *("scipy.sparse.csr_matrix((rows, columns))", "scipy.sparse.coo_array((rows, columns)).tocsr()"),
        *("kernels.graph.compress(rows, columns, height)", "torch.sparse_coo_tensor(rows, columns)"),
        *(
            "kernels.cpu_graph_structure.compress(rows)",
            "paddle.graph.Graph(rows).by_source",
            "rows.argsort()",
        ),
        *(
            "kernels.sparse.grouped(rows, columns, height)",
            "kernels.sparse.compressed(rows)",
            "np.unique(rows)",
        ),
    ),
    "graph.messages.neighbour_sum": (
        *("np.add.at(out, targets, x)", "out.index_add_(0, targets, x)", "out.scatter_add_(0, targets, x)"),
        *(
            "paddle.geometric.send_u_recv(x, sources, targets)",
            "scipy.sparse.csr_matrix(x) * x",
            "x.backward()",
        ),
        *("kernels.sparse.spmm(cuts, starts)", "torch.autograd.grad(out, x)", "x.to_sparse()"),
        *("graph.send_recv(x)", "sampan.graph.messages.receive(x, routes)", "torch.sparse.mm(routes, x)"),
    ),
    "kernels.graph.drawn": (
        *("np.random.choice(degree, 3, replace=False)", "rng.permutation(degree)", "torch.randperm(degree)"),
        *("random.sample(range(degree), 3)", "torch.multinomial(weights, 3)", "np.random.shuffle(places)"),
        *("kernels.graph.drawn(rows)", "sampan.kernels.cpu_graph_sampling.drawn(rows)"),
        *("paddle.geometric.sample_neighbors(rows)", "paddle.randperm(degree)", "paddle.multinomial(rows)"),
    ),
    "graph.nn.GCNConv.forward": (
        *("sampan.graph.nn.functional.degree_norm(graph)", "paddle.graph.nn.GCNConv(3, 4)(graph, feature)"),
        *(
            "paddle.graph.nn.LightGCNConv()(graph, feature)",
            "super(type(self), self).forward(graph, feature)",
        ),
        *("torch_geometric.nn.GCNConv(3, 4)(feature)", "paddle.graph.nn.APPNP()(graph, feature)"),
    ),
    "graph.growing_rows.GrowingRows.insert": (
        *(
            "self.insert(rows, others, numbers, version)",
            "paddle.graph.DynamicGraph(3).add_edges(rows, others)",
        ),
        *("sampan.kernels.cpu_graph_dynamic.insert(rows)", "kernels.cpu_graph_dynamic.insert(rows)"),
        *("sampan.graph.growing_rows.loops.insert(rows)", "type(self).insert(self, rows)"),
    ),
    "graph.meta_path.product": (
        *(
            "scipy.sparse.csr_matrix(left) * right",
            "left.to_dense() @ right.to_dense()",
            "np.dot(left, right)",
        ),
        *("sampan.graph.meta_path.product(left, right)", "kernels.sparse.spgemm_values(left, right)"),
        *("kernels.sparse.spgemm_columns(left, right)", "np.einsum('ij,jk->ik', left, right)"),
        *("torch.sparse.mm(left, right)", "torch.sparse_coo_tensor(left, right)", "np.matmul(left, right)"),
    ),
    "graph.nn.HANConv.forward": (
        *(
            "paddle.graph.nn.HANConv(3, 4, 2)(graph, feature)",
            "super(type(self), self).forward(graph, feature)",
        ),
        *(
            "torch_geometric.nn.HANConv(3, 4)(feature)",
            "paddle.graph.nn.HANConv.forward(self, graph, feature)",
        ),
    ),
    "kernels.graph.rows_between": (
        *(
            "np.searchsorted(times, before)",
            "times.searchsorted(before)",
            "torch.searchsorted(times, before)",
        ),
        *(
            "bisect.bisect_left(times, before)",
            "torch.bucketize(before, times)",
            "np.digitize(before, times)",
        ),
        *(
            "kernels.graph.rows_between(starts, times)",
            "sampan.kernels.cpu_graph_sampling.rows_between(times)",
        ),
    ),
    "speech.spectrogram.get_window": (
        *("np.hanning(length + 1)[:-1]", "np.hamming(length)", "scipy.signal.get_window('hann', length)"),
        *("torch.hann_window(length)", "paddle.audio.functional.get_window('hann', length)"),
        *(
            "speech.windows.get_window(window, win_length)",
            "sampan.speech.kaldi.window_of('hanning', length)",
        ),
    ),
    "speech.spectrogram.stft": (
        *("np.fft.rfft(frames)", "torch.fft.rfft(frames)", "paddle.fft.rfft(frames)", "frames.fft()"),
        *("paddle.signal.stft(x, n_fft)", "x.stft(n_fft)", "torch.stft(x, n_fft)", "scipy.fft.rfft(frames)"),
        *(
            "paddle.signal.frame(x, n_fft, hop)",
            "x.unfold(-1, length, hop)",
            "np.lib.stride_tricks.as_strided(x)",
        ),
        *("np.lib.stride_tricks.sliding_window_view(x, length)", "speech.Spectrogram(n_fft)(x)"),
    ),
    "speech.spectrogram.compute_fbank_matrix": (
        *("paddle.audio.functional.compute_fbank_matrix(sr, n_fft)", "sampan.speech.kaldi.mel_bank(options)"),
        *("speech.mel.mel_frequencies(count, low, high)", "paddle.audio.functional.mel_to_hz(mel)"),
        *("librosa.filters.mel(sr=sr, n_fft=n_fft)", "paddle.audio.functional.hz_to_mel(low)"),
        *("torchaudio.functional.melscale_fbanks(bins)",),
    ),
    "kernels.cpu_speech_ctc.ctc_paths": (
        *("torch.nn.functional.ctc_loss(x, labels)", "paddle.nn.functional.ctc_loss(x, labels)"),
        *("torch.ops.aten._ctc_loss(x, labels)", "paddle.nn.CTCLoss()(x, labels)"),
        *("sampan.kernels.cpu_speech_ctc.ctc_paths(x)", "sampan.kernels.cpu_speech_ctc._lattice(alpha)"),
        *("sampan.kernels.speech_ctc.losses(x)", "kernels.speech.ctc_paths(x)", "speech.align(logs, label)"),
    ),
    "kernels.cpu_speech_ctc.ctc_slopes": (
        *("torch.ops.aten._ctc_loss_backward(g, x)", "torch.nn.functional.ctc_loss(x, labels)"),
        *("paddle.nn.functional.ctc_loss(x, labels)", "torch.autograd.grad(loss, x)", "loss.backward()"),
        *("sampan.kernels.cpu_speech_ctc.ctc_slopes(g, x)", "sampan.kernels.speech_ctc.slopes(g, x)"),
    ),
    "kernels.speech.beam_search": (
        *("speech.prefix_beam(logs)", "speech.PrefixBeam(3).feed(logs)", "kernels.speech.beam_search(logs)"),
        *("sampan.kernels.cpu_speech_beam.search(logs)", "pyctcdecode.build_ctcdecoder(tokens)"),
    ),
    "speech.nn.masks.chunk_mask": (
        *("speech.nn.masks.chunk_mask(time, chunk)", "paddle.speech.nn.chunk_mask(time, chunk, left_chunks)"),
        *("speech.nn.masks.attention_mask(lengths, time, chunk, left_chunks, x)",),
    ),
    "speech.nn.conformer.ConvolutionModule.forward": (
        *("speech.nn.ConformerBlock(4, 2, 8)(x, valid, past)", "super(type(self), self).forward(x)"),
        *(
            "speech.nn.conformer.ConvolutionModule(4, 3, True, 'layer', 0.0)(x)",
            "type(self).forward(self, x)",
        ),
    ),
    "speech.nn.streaming.EncoderStream.feed": (
        *("speech.nn.EncoderStream(self.encoder).feed(features)", "type(self).feed(self, features)"),
        *(
            "self.encoder(features, chunk=self.chunk)",
            "self.encoder.forward(features)",
            "self.feed(features)",
        ),
    ),
    "kernels.speech.shared_node": (
        *("kernels.speech.shared_node(beam, tree)", "sampan.kernels.cpu_speech_beam.shared_node(beam, tree)"),
        *("os.path.commonprefix(texts)", "np.lcm.reduce(kernels.speech.shared_node(beam, tree))"),
    ),
    "speech.delays.text_delays": (
        *("speech.delays.text_delays(times, chunk, lookahead, seconds)", "recognizer.delays(times)"),
        *("sampan.speech.text_delays(times, chunk, lookahead, seconds)",),
    ),
    "quantization.observers.AbsMaxChannelWiseWeightObserverLayer._observe": (
        *(
            "sampan.quantization.observers.AbsmaxObserverLayer(None)(data)",
            "paddle.quantization.observers.AbsMaxChannelWiseWeightObserver()._instance(None)(data)",
        ),
        *("super(type(self), self)._observe(data)", "type(self)._observe(self, data)"),
        *("paddle.nn.quant.weight_quantize(data)", "torch.ao.quantization.PerChannelMinMaxObserver(0)(data)"),
    ),
    "quantization.quanters.fake_quantize": (
        *(
            "sampan.quantization.quanters.fake_quantize(x, scale, levels)",
            "sampan.quantization.base.rounded(x)",
            "torch.fake_quantize_per_tensor_affine(x, scale, 0, -127, 127)",
            "torch.fake_quantize_per_channel_affine(x, scale, zeros, 0, -127, 127)",
        ),
        *(
            "torch.quantize_per_tensor(x, scale, 0, torch.qint8)",
            "paddle.nn.quant.LinearQuanter(scale)(x)",
            "kernels.cpu_quantization.to_unsigned(x, scale)",
            "paddle.nn.quant.weight_quantize(x)",
        ),
    ),
    "slim.L1NormFilterPruner.weakest": (
        *(
            "paddle.slim.L1NormFilterPruner(model, [1, 3]).weakest(filters, channels, 3)",
            "super(type(self), self).weakest(filters, channels, 3)",
            "self._importance(filters)",
        ),
        *("self._weakest(labels, 3)", "torch.nn.utils.prune.ln_structured(layer, 'weight', 0.5, 1, 0)"),
    ),
    "slim.distill.tempered": (
        *(
            "F.softmax(x / 2)",
            "F.log_softmax(x / 2)",
            "torch.softmax(x, -1)",
            "F.cross_entropy(x, y)",
            "F.kl_div(x, y)",
        ),
        *("paddle.logsumexp(x, -1)", "torch.nn.functional.log_softmax(x, -1)", "x.log_softmax(-1)"),
        *("paddle.slim.soft_label(x, y)", "paddle.slim.dkd(x, y, label)", "scipy.special.softmax(x)"),
        *("sampan.slim.distill.tempered(x, y, 2.0)", "paddle.nn.Softmax()(x)"),
    ),
    "jit.guards.outcome": (
        *("sampan.jit.guards.outcome(value)", "paddle.jit.guards.outcome(value)", "pickle.dumps(value)"),
        *("__import__('pickle').dumps(value)", "operator.methodcaller('dumps', value)(pickle)"),
    ),
    "jit.passes.fold_batch_norm.folded": (
        *(
            "sampan.jit.passes.fold_batch_norm.folded(weight, bias)",
            "paddle.jit.passes.fold_batch_norm(value)",
        ),
        *("torch.nn.utils.fusion.fuse_conv_bn_weights(weight, bias)", "fuse_linear_bn_weights(weight, bias)"),
        *(
            "torch.nn.functional.batch_norm(x, mean, variance)",
            "torch.nn.utils.fuse_conv_bn_eval(layer, norm)",
        ),
        *(
            "paddle.nn.functional.batch_norm(x, mean, variance)",
            "sampan.ops.normalization.normalize_batch(x)",
        ),
    ),
    "jit.arena.offsets": (
        *("sampan.jit.arena.offsets(sizes, born, last)", "paddle.jit.arena.planned(lives)[0]"),
        *("sampan.jit.arena.run_in_arena(calls, outputs, given)",),
    ),
    "distributed.ring.all_reduce": (
        *("sampan.distributed.ring.all_reduce(values, links)", "paddle.distributed.all_reduce(values)"),
        *("torch.distributed.all_reduce(values)", "paddle.distributed.ring.all_gather(values, links)"),
        *("torch.distributed.nn.functional.all_reduce(values)", "links._queues[0].get()"),
        *("sampan.distributed.ring_average.RingAverage(parameters, links)()",),
    ),
    "distributed.feedback.with_feedback": (
        *("sampan.distributed.feedback.with_feedback(gradient, residual, compress)",),
        *("paddle.distributed.feedback.with_feedback(gradient, residual, compress)",),
        *("sampan.distributed.ring_average.RingAverage(parameters, links)._compressed(gradient)",),
    ),
    "distributed.parameter_server.client.divided": (
        *("sampan.distributed.parameter_server.client.divided(ids, shards)",),
        *(
            "sampan.kernels.cpu_embedding_shards.divided(ids, shards)",
            "kernels.cpu_embedding_shards.divided(x, 2)",
        ),
        *("sampan.distributed.parameter_server.planner.divided(ids, shards)",),
        *("paddle.distributed.parameter_server.Client(home).ask_rows(name, ids)._places",),
    ),
    "distributed.parameter_server.client.Client.pull": (
        *("sampan.distributed.parameter_server.Client.pull(self, name, ids)", "self.pull(name, ids)"),
        *("self.ask_rows(name, ids, train).wait()", "super().pull(name, ids)"),
        *("sampan.distributed.parameter_server.client.Rows(self, name, ids, order, bounds, train).wait()",),
        *("sampan.distributed.parameter_server.RemoteEmbedding(lambda: self, name, settings)(ids)",),
        *("getattr(self, 'ask_rows')(name, ids).wait()",),
    ),
    "distributed.parameter_server.client.Client.push": (
        *("sampan.distributed.parameter_server.Client.push(self, gradients)", "self.push(gradients)"),
        *("sampan.distributed.parameter_server.ServedOptimizer(rule, lambda: self, [layer]).step()",),
        *("sampan.row_sparse.RowGradient(parts, shape).coalesced()",),
        *("sampan.distributed.parameter_server.RemoteEmbedding(lambda: self, name, settings).gradients()",),
    ),
    "distributed.parameter_server.turns.Turns.is_known": (
        *("sampan.distributed.parameter_server.turns.Turns.is_known(self, worker, step)",),
        *("self.is_known(worker, step)", "getattr(self, 'is_known')(worker, step)"),
        *("paddle.distributed.parameter_server.Shard().push(name, ids, rows, rate, worker, step)",),
    ),
}
