"""Operators without samples, and the tests that they have instead."""

from __future__ import annotations

from collections.abc import Callable

import tests.distributed.sharding.test_model
import tests.distributed.test_data_parallel
import tests.distributed.test_sync_batch_norm
import tests.embedding.test_bag
import tests.embedding.test_dynamic
import tests.embedding.test_word_char
import tests.names.incubate.nn.functional.test_lengths
import tests.names.incubate.nn.functional.test_norms
import tests.names.incubate.nn.functional.test_rotary
import tests.nn.functional.test_activation
import tests.nn.functional.test_common
import tests.nn.functional.test_likelihood
import tests.nn.functional.test_loss
import tests.nn.functional.test_normalization
import tests.nn.functional.test_pooling
import tests.nn.functional.test_regularization
import tests.nn.functional.test_vision
import tests.nn.test_transformer
import tests.ops.test_complex_numbers
import tests.ops.test_decomposition
import tests.ops.test_gathering
import tests.ops.test_indexing
import tests.ops.test_linalg
import tests.ops.test_logic
import tests.ops.test_special
import tests.ops.test_spectral
import tests.ops.test_statistics
import tests.quantization.quanters.test_quanters
import tests.quantization.test_int8
import tests.quantization.test_weight_only
import tests.sparse.nn.test_functional
import tests.sparse.test_attention
import tests.sparse.test_blocks
import tests.sparse.test_convolution
import tests.sparse.test_elementwise
import tests.sparse.test_products
import tests.sparse.test_structure
import tests.sparse.test_tensor
import tests.speech.nn.test_attention
import tests.speech.nn.test_decoder
import tests.speech.nn.test_keyword
import tests.speech.nn.test_masks
import tests.speech.nn.test_operators
import tests.speech.nn.test_subsampling
import tests.speech.test_resample
import tests.speech.test_wav2vec2
import tests.test_random
import tests.test_tensor

# The gradient of an operator that has samples: these reach it.
GRADIENT_OF = {
    "max_unpool": "max_pool",
    "avg_unpool": "avg_pool",
    "adaptive_unpool": "adaptive_pool",
    "resized_back": "resized",
    "rows_summed": "rows_at",
}

_ops = tests.ops
_functional = tests.nn.functional
_solved = _ops.test_decomposition
_sparse = tests.sparse
_speech = tests.speech.nn

TESTED: dict[str, Callable[..., None]] = {
    "copy_to": tests.test_tensor.test_copies_between_devices_are_on_the_tape,
    "put_at_places": _functional.test_pooling.test_unpooling_puts_the_winners_back,
    "int8_linear": tests.quantization.test_int8.test_linear,
    "int8_conv2d": tests.quantization.test_int8.test_convolution,
    "fake_quantize": tests.quantization.quanters.test_quanters.test_the_value_lies_on_the_grid_and_the_gradient_passes,
    "computed": tests.distributed.sharding.test_model.test_parameters_that_stay_whole,
    "over_processes": tests.distributed.test_sync_batch_norm.test_values_gradients_and_second_derivatives,
    "normalize_over_processes": tests.distributed.test_sync_batch_norm.test_values_gradients_and_second_derivatives,
    "output": tests.distributed.test_data_parallel.test_outputs_in_containers,
    "weight_quantize": tests.quantization.test_weight_only.test_a_weight_survives_to_half_a_step,
    "rotate": tests.names.incubate.nn.functional.test_rotary.test_gradients_of_two_orders_and_views,
    "row_statistics": tests.names.incubate.nn.functional.test_norms.test_layer_norm_of_a_sum,
    "quantized": tests.names.incubate.nn.functional.test_norms.test_values_of_eight_bits,
    "places_before": tests.names.incubate.nn.functional.test_lengths.test_each_sample_alone,
    "resampled": tests.speech.test_resample.test_values_are_the_definition,
    "resampled_back": tests.speech.test_resample.test_gradient_is_the_transpose,
    "project": tests.speech.nn.test_operators.test_a_linear_layer_over_the_last_axis,
    "residual": tests.speech.nn.test_operators.test_a_residual,
    "scores_by_distance": tests.speech.nn.test_operators.test_scores_by_distance,
    "shift": tests.speech.nn.test_operators.test_shift_takes_each_row_from_its_column_on,
    "unshift": tests.speech.nn.test_operators.test_shift_takes_each_row_from_its_column_on,
    "depthwise": tests.speech.nn.test_operators.test_depthwise_convolution,
    "depthwise_back": tests.speech.nn.test_operators.test_depthwise_convolution,
    "depthwise_plain": tests.speech.nn.test_operators.test_depthwise_convolution,
    "depthwise_weight": tests.speech.nn.test_operators.test_depthwise_convolution,
    # Constants that are made or drawn, and what is read from labels, masks, lengths and ids.
    "attention_bias": tests.nn.test_transformer.test_every_spelling_is_the_formula,
    "drawn_mask": _functional.test_regularization.test_dropout_gives_the_gradient_its_own_mask,
    "drawn_line": _functional.test_regularization.test_dropout_of_channels_and_of_selu,
    "drawn_slopes": _functional.test_activation.test_random_slopes_are_uniform_and_scale_the_gradient,
    "exponential_logs": _functional.test_activation.test_a_gumbel_sample_has_the_probabilities_of_softmax,
    "to_one_hot": _functional.test_activation.test_a_gumbel_sample_has_the_probabilities_of_softmax,
    "entropies": _functional.test_likelihood.test_losses_that_torch_has_too,
    "picks": _functional.test_loss.test_cross_entropy_of_integer_labels,
    "below": _functional.test_common.test_masks_trees_and_samples_of_labels,
    "largest_places": _functional.test_pooling.test_pooling_with_uneven_padding,
    "adaptive_places": _functional.test_pooling.test_adaptive_pooling,
    "best_places": _functional.test_pooling.test_fractional_windows_begin_where_paddle_has_them,
    "bag_places": tests.embedding.test_bag.test_every_mode_is_torchs,
    "frequency_shares": tests.embedding.test_bag.test_every_mode_is_torchs,
    "encoded_distances": _speech.test_attention.test_the_encoding_of_distances,
    "frame_counts": _speech.test_subsampling.test_bad_input,
    "known_ids": tests.embedding.test_word_char.test_bad_input_is_named,
    "rows_of_tables": tests.embedding.test_bag.test_many_tables_in_one_call,
    "checked_places": _functional.test_pooling.test_unpooling_refuses_what_does_not_fit,
    "own_lengths": _speech.test_masks.test_lengths,
    "within_lengths": _speech.test_masks.test_lengths,
    "hidden_frames": _speech.test_masks.test_the_mask_of_attention_joins_lengths_and_chunks,
    "subsampled": _speech.test_subsampling.test_values_and_number_of_frames,
    "begun": _speech.test_decoder.test_what_is_behind_an_end_is_not_read,
    "there": _speech.test_keyword.test_padding_and_loudness_change_nothing,
    "convolved_lengths": tests.speech.test_wav2vec2.test_outputs_equal_the_recorded_ones,
    "ctc": _functional.test_likelihood.test_ctc,
    "transducer": _functional.test_likelihood.test_the_transducer_is_the_sum_over_all_alignments,
    "sampled": _functional.test_vision.test_affine_grids_and_sampling,
    "normalize_batch": _functional.test_normalization.test_batch_norm,
    "imag": _ops.test_complex_numbers.test_functions_of_one_complex_number,
    "as_real": _ops.test_complex_numbers.test_pairs_both_ways,
    "gammainc": _ops.test_special.test_incomplete_gamma_functions,  # no derivative by x
    "gammaincc": _ops.test_special.test_incomplete_gamma_functions,
    "bernoulli": tests.test_random.test_discrete_distributions,
    "binomial": tests.test_random.test_discrete_distributions,
    "multinomial": tests.test_random.test_discrete_distributions,
    "poisson": tests.test_random.test_discrete_distributions,
    "standard_gamma": tests.test_random.test_continuous_distributions,
    "equal_all": _ops.test_logic.test_whole_arrays,
    "is_empty": _ops.test_logic.test_whole_arrays,
    "allclose": _ops.test_logic.test_closeness,
    "put_along_axis": _ops.test_indexing.test_take_and_put_along_an_axis,
    "scatter": _ops.test_indexing.test_scatter,
    "scatter_nd_add": _ops.test_indexing.test_scatter_nd,
    "masked_select": _ops.test_indexing.test_masked_select_and_topk,
    "put": _ops.test_indexing.test_writing_and_its_gradients,
    "crop": _ops.test_gathering.test_crop,
    "index_put": _ops.test_gathering.test_index_put,
    "masked_scatter": _ops.test_gathering.test_masked_scatter,
    "scatter_nd": _ops.test_gathering.test_scatter_nd_takes_its_shape_as_a_tensor,
    "shard_index": _ops.test_gathering.test_shard_index,
    "top_p_sampling": _ops.test_gathering.test_top_p_sampling_draws_among_the_most_likely,
    "unique": _ops.test_gathering.test_unique,
    "unique_consecutive": _ops.test_gathering.test_unique_consecutive,
    "contract": _ops.test_linalg.test_einsum_as_numpy,
    "histogramdd": _ops.test_statistics.test_histograms_of_points,
    "fft_c2c": _ops.test_spectral.test_transforms_of_one_axis,
    "fft_c2r": _ops.test_spectral.test_transforms_of_one_axis,
    "fft_r2c": _ops.test_spectral.test_transforms_of_one_axis,
    "istft": _ops.test_spectral.test_a_signal_comes_back,
    "stft": _ops.test_spectral.test_short_time_transforms,
    "cholesky": _solved.test_cholesky,
    "cholesky_inverse": _solved.test_solved_with_a_cholesky_factor,
    "cholesky_solve": _solved.test_solved_with_a_cholesky_factor,
    "eig": _solved.test_eigenvectors,
    "eigh": _solved.test_eigenvectors_of_symmetric_matrices,
    "eigvals": _solved.test_eigenvectors,
    "eigvalsh": _solved.test_eigenvectors_of_symmetric_matrices,
    "lu": _solved.test_lu,
    "lu_factor": _solved.test_lu_solve,
    "lu_solve": _solved.test_lu_solve,
    "lu_unpack": _solved.test_lu,
    "matrix_rank": _solved.test_matrix_rank,
    "multi_dot": _solved.test_multi_dot,
    "ormqr": _solved.test_reflections,
    "pca_lowrank": _solved.test_low_rank,
    "svd": _solved.test_svd,
    "svd_lowrank": _solved.test_low_rank,
    "triangular_solve": _solved.test_triangular_solve,
    # Over patterns and bags, which no sample can draw.
    "masked_attention": _sparse.test_attention.test_values_and_gradients_are_those_of_dense_attention,
    "blockwise_attention": _sparse.test_blocks.test_values_and_gradients_are_those_of_dense_attention,
    "sparse_conv": _sparse.test_convolution.test_convolution_with_both_gradients,
    "sparse_conv_weight": _sparse.test_convolution.test_second_derivatives,
    "sparse_max_pool": _sparse.test_convolution.test_pools,
    "sparse_sum_pool": _sparse.test_convolution.test_pools,
    "sample_means": _sparse.test_convolution.test_pools,
    "means_spread": _sparse.test_convolution.test_pools,
    "channels_placed": _sparse.test_convolution.test_pools,
    "channels_picked": _sparse.test_convolution.test_gradients_by_finite_differences,
    "spmm": _sparse.test_products.test_sparse_spmm,
    "sddmm": _sparse.test_products.test_a_product_at_the_entries_of_a_mask,
    "turned": _sparse.test_structure.test_transpose,
    "spgemm": _sparse.test_products.test_sparse_times_sparse_is_sparse_forward_and_back,
    "spgemm_dots": _sparse.test_products.test_second_derivatives,
    "row_softmax": _sparse.nn.test_functional.test_softmax_is_over_the_entries_alone,
    "row_softmax_back": _sparse.nn.test_functional.test_softmax_is_over_the_entries_alone,
    "row_sums": _sparse.nn.test_functional.test_softmax_is_over_the_entries_alone,
    "entries_summed": _sparse.test_elementwise.test_two_sparse_tensors,
    "entries_picked": _sparse.test_structure.test_slice,
    "entries_placed": _sparse.test_structure.test_slice,
    "entries_joined": _sparse.test_tensor.test_the_gradient_of_coalescing_goes_to_every_entry_of_its_place,
    "entries_spread": _sparse.test_tensor.test_the_gradient_of_coalescing_goes_to_every_entry_of_its_place,
    "bag_sums": tests.embedding.test_bag.test_every_mode_is_torchs,
    "bag_dots": tests.embedding.test_bag.test_every_mode_is_torchs,
    "bag_tops": tests.embedding.test_bag.test_every_mode_is_torchs,
    "columns_placed": tests.embedding.test_bag.test_second_derivatives,
    "columns_picked": tests.embedding.test_bag.test_second_derivatives,
    "rows_looked_up": tests.embedding.test_dynamic.test_it_trains_as_a_table_that_has_all_rows,
}
