"""Settings of predictors."""

import logging

import pytest

from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.inference import Config, PrecisionType, create_predictor

PADDLE = [
    "Bfloat16",
    "Float32",
    "Half",
    "Int8",
    "Precision",
    "collect_shape_range_info",
    "cpu_math_library_num_threads",
    "delete_pass",
    "disable_glog_info",
    "disable_gpu",
    "disable_mkldnn",
    "disable_mkldnn_fc_passes",
    "disable_onednn",
    "disable_onednn_fc_passes",
    "disable_onnxruntime",
    "enable_cinn",
    "enable_custom_device",
    "enable_custom_passes",
    "enable_ipu",
    "enable_low_precision_io",
    "enable_memory_optim",
    "enable_mkldnn",
    "enable_mkldnn_bfloat16",
    "enable_mkldnn_int8",
    "enable_new_executor",
    "enable_new_ir",
    "enable_onednn",
    "enable_onednn_bfloat16",
    "enable_onednn_int8",
    "enable_onnxruntime",
    "enable_openvino_engine",
    "enable_ort_optimization",
    "enable_profile",
    "enable_save_optim_model",
    "enable_tensorrt_dla",
    "enable_tensorrt_engine",
    "enable_tensorrt_explicit_quantization",
    "enable_tensorrt_inspector",
    "enable_tensorrt_memory_optim",
    "enable_tensorrt_varseqlen",
    "enable_tuned_tensorrt_dynamic_shape",
    "enable_use_gpu",
    "enable_xpu",
    "exp_disable_mixed_precision_ops",
    "exp_disable_tensorrt_dynamic_shape_ops",
    "exp_disable_tensorrt_ops",
    "exp_disable_tensorrt_subgraph",
    "exp_enable_mixed_precision_ops",
    "exp_enable_use_cutlass",
    "exp_sparse_conv_using_buffer",
    "exp_specify_tensorrt_subgraph_precision",
    "fraction_of_gpu_memory_for_pool",
    "glog_info_disabled",
    "gpu_device_id",
    "ir_optim",
    "load_ipu_config",
    "mark_trt_engine_outputs",
    "memory_pool_init_size_mb",
    "mkldnn_enabled",
    "mkldnn_int8_enabled",
    "model_dir",
    "model_from_memory",
    "new_ir_enabled",
    "onednn_enabled",
    "onednn_int8_enabled",
    "onnxruntime_enabled",
    "openvino_engine_enabled",
    "params_file",
    "pass_builder",
    "prog_file",
    "set_bfloat16_op",
    "set_cpu_math_library_num_threads",
    "set_ipu_config",
    "set_ipu_custom_info",
    "set_mkldnn_cache_capacity",
    "set_mkldnn_op",
    "set_model",
    "set_model_buffer",
    "set_onednn_cache_capacity",
    "set_onednn_op",
    "set_optim_cache_dir",
    "set_optimization_level",
    "set_params_file",
    "set_prog_file",
    "set_tensorrt_optimization_level",
    "set_trt_dynamic_shape_info",
    "set_xpu_config",
    "set_xpu_device_id",
    "shape_range_info_collected",
    "shape_range_info_path",
    "specify_input_name",
    "summary",
    "switch_ir_debug",
    "switch_ir_optim",
    "switch_specify_input_names",
    "switch_use_feed_fetch_ops",
    "tensorrt_dla_enabled",
    "tensorrt_dynamic_shape_enabled",
    "tensorrt_engine_enabled",
    "tensorrt_explicit_quantization_enabled",
    "tensorrt_inspector_enabled",
    "tensorrt_optimization_level",
    "tensorrt_varseqlen_enabled",
    "trt_allow_build_at_runtime",
    "tuned_tensorrt_dynamic_shape",
    "use_feed_fetch_ops_enabled",
    "use_gpu",
    "use_optimized_model",
    "use_xpu",
    "xpu_device_id",
]


def test_every_name_of_paddle_is_there_and_documented():
    assert not [name for name in PADDLE if not hasattr(Config, name)]
    assert all(getattr(Config, name).__doc__ for name in PADDLE)


def test_other_hardware_is_logged_and_answers_no(caplog):
    config = Config()
    with caplog.at_level(logging.WARNING, "sampan.inference"):
        config.enable_use_gpu(100, 0)
        config.enable_tensorrt_engine(workspace_size=1 << 20)
    assert "enable_use_gpu changes nothing: predictors run on the CPU" in caplog.text
    assert (
        config.use_gpu() is False
        and config.tensorrt_engine_enabled() is False
        and config.gpu_device_id() == 0
    )
    caplog.clear()
    config.disable_glog_info()
    config.enable_xpu()
    assert not caplog.text


def test_passes_are_left_out_by_name():
    config = Config()
    assert "fold_batch_norm" in config.passes()
    config.delete_pass("fold_batch_norm")
    config.pass_builder().delete_pass("a pass of Paddle's")
    config.disable_mkldnn()
    assert not {"fold_batch_norm", "fuse_activation", "fuse_linear"} & set(config.passes())
    with pytest.raises(InvalidArgument, match="append_pass"):
        config.pass_builder().append_pass("nothing")
    config.switch_ir_optim(False)
    assert config.passes() == [] and not config.ir_optim()


def test_engines_and_precisions():
    config = Config()
    config.enable_openvino_engine()
    assert config.engine() == ("openvino", PrecisionType.Float32) and config.openvino_engine_enabled()
    config.enable_openvino_engine("bf16")
    assert config.engine()[1] is PrecisionType.Bfloat16
    config.enable_onnxruntime()
    assert config.onnxruntime_enabled() and "onnxruntime" in config.summary()
    config.disable_onnxruntime()
    assert config.engine()[0] == "replay"
    for wrong in ("int3", PrecisionType.Int8, None):
        with pytest.raises(InvalidArgument, match="inference_precision: expected one of"):
            config.enable_openvino_engine(wrong)
    for wrong in (0, True, "2"):
        with pytest.raises(InvalidArgument, match="expected an int from 1"):
            config.set_cpu_math_library_num_threads(wrong)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidArgument, match="expected a model, none is set"):
        create_predictor(Config())
    with pytest.raises(InvalidArgument, match=r"no file .*m\.json"):
        create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))
    with pytest.raises(InvalidArgument, match=r"expected one model in .* got 0"):
        create_predictor(Config(str(tmp_path)))
    (tmp_path / "m.json").write_text("{}")
    with pytest.raises(InvalidArgument, match="not a Program"):
        create_predictor(Config(str(tmp_path)))
    with pytest.raises(InvalidType, match="expected the names of files, got int"):
        Config(3)
    with pytest.raises(InvalidArgument, match="at most 2 files"):
        Config("a", "b", "c")
