"""Settings of Paddle's compiler, which change nothing."""

from typing import Any

import numpy as np
import pytest

from sampan import static


def test_a_compiled_program_runs_as_the_program() -> None:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x: Any = static.data("x", [None, 3])
        y = x * 2
    strategy = static.BuildStrategy()
    strategy.fuse_elewise_add_act_ops = True
    strategy.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    exe = static.Executor()
    compiled = static.CompiledProgram(main, build_strategy=strategy)
    given = np.arange(6, dtype="float32").reshape(2, 3)
    (found,) = exe.run(compiled, feed={"x": given}, fetch_list=[y])
    assert np.array_equal(found, 2 * given)
    with pytest.raises(TypeError, match="CompiledProgram: program_or_graph: got int"):
        static.CompiledProgram(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="CompiledProgram: build_strategy: got int"):
        static.CompiledProgram(main, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="run: program: expected a Program, got int"):
        exe.run(3)  # type: ignore[arg-type]
