"""From a fork of the warm process to namespaces of its own: no submission can see another or leave anything behind
for it.

The warm process already runs inside bubblewrap (`bubble.py`): a read-only system, no network, no rights. This file
repeats for each submission what bubblewrap does once, because bubblewrap can only start a new program, which costs
3 to 4 s of imports per submission; a fork costs 0.03 s.

    python -m studio.grading.isolation       tries all of it and ends with 0
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from studio.compute.limits import Limits

WORK = Path("/learner")  # the only place where a learner's code can write
WORK_BYTES = 256 << 20
SHARED_MEMORY_BYTES = 64 << 20
WORK_FILES, SHARED_MEMORY_FILES = 20_000, 1_000  # each takes about a kilobyte of the kernel's memory
# Memory of one process; the guard applies the same limit to all processes of one submission together.
LIMITS = Limits(memory=3 << 30, processes=64, files=256, file_bytes=WORK_BYTES)

_NEW_MOUNTS = 0x00020000
_NEW_OTHERS = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_NOSUID, _NODEV, _NOEXEC, _BIND = 2, 4, 8, 4096
_SET_DUMPABLE, _SET_NO_NEW_PRIVS, _DROP_BOUNDING = 4, 38, 24
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def leave_the_others() -> None:
    """New user, pid, network, ipc, uts and cgroup namespaces; the next fork is process 1 of them.

    The process that calls this stays outside as their guard: unseen from inside, and closed to inspection.
    """
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", ctypes.c_int(_NEW_OTHERS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def close_to_inspection() -> None:
    _prctl(_SET_DUMPABLE, 0)


def settle(covered: Iterable[Path] = ()) -> None:
    """In process 1 of the new namespaces: its own empty work folder, and no way to gain rights again. The `covered`
    files appear empty."""
    _call("unshare", ctypes.c_int(_NEW_MOUNTS))
    _mount("proc", Path("/proc"), "")
    _mount("tmpfs", WORK, f"size={WORK_BYTES},nr_inodes={WORK_FILES},mode=700")
    _mount("tmpfs", Path("/dev/shm"), f"size={SHARED_MEMORY_BYTES},nr_inodes={SHARED_MEMORY_FILES},mode=700")
    for path in (*covered, Path("/dev/zero")):  # /dev/zero, mapped as shared, is memory that no limit counts
        _call("mount", b"/dev/null", str(path).encode(), None, ctypes.c_ulong(_BIND), None)
    (WORK / "tmp").mkdir()
    os.chdir(WORK)
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    for capability in range(_LAST_CAPABILITY + 1):
        _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # those above the kernel's last one do not exist
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())
    _prctl(_SET_NO_NEW_PRIVS, 1)


def _mount(kind: str, target: Path, options: str) -> None:
    flags = ctypes.c_ulong(_NOSUID | _NODEV | (_NOEXEC if kind == "proc" else 0))
    _call("mount", kind.encode(), str(target).encode(), kind.encode(), flags, options.encode())


def _prctl(option: int, value: int) -> None:
    _call("prctl", *(ctypes.c_ulong(number) for number in (option, value, 0, 0, 0)))


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _probe() -> int:
    from .syscalls import learners_filter

    leave_the_others()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            settle()
            LIMITS.apply()
            learners_filter().load()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(_probe())
