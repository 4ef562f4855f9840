"""Memory that belongs to no process, or to several: every way to take more than there is ends in an error or a verdict,
also where no cgroup can be made; and what libraries share among processes still works."""

from __future__ import annotations

import platform
import textwrap

import psutil
import pytest

from tests.webapp.grading.book import HEAD, SOLUTION

pytestmark = pytest.mark.alone

FAR = 2 << 30  # bytes; the limit of these tests is 1.4 GB
HOLD = "\nimport time\ntime.sleep(15)\n"
START = "import ctypes, mmap, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.mmap.restype = ctypes.c_void_p\n"
TAKE = f"""
def fill(area, size):
    for start in range(0, size, 4096):
        area[start] = 1
size = {FAR}
"""
ATTACKS = {
    "shared and anonymous": f"{TAKE}area = mmap.mmap(-1, size)\nfill(area, size)",
    "a file in memory": "fd = libc.memfd_create(b'x', 0)\nassert fd >= 0, 'refused'\n"
    f"for _ in range({FAR >> 24}):\n    os.write(fd, bytes(1 << 24))",
    "a System V segment": f"key = libc.shmget(0, ctypes.c_size_t({FAR}), 0o1600)\nassert key >= 0, 'refused'\n"
    f"libc.shmat.restype = ctypes.c_void_p\nctypes.memset(libc.shmat(key, None, 0), 1, {FAR})",
    "semaphores": "for _ in range(32000):\n    assert libc.semget(0, 32000, 0o1600) >= 0, 'refused'",
    "messages": "for _ in range(32000):\n    assert libc.msgget(0, 0o1600) >= 0, 'refused'",
    "zeros, shared": "fd = os.open('/dev/zero', os.O_RDWR)\n"
    f"{TAKE}area = mmap.mmap(fd, size, mmap.MAP_SHARED)\nfill(area, size)",
    "page tables": f"far = {FAR} * 512\nat = libc.mmap(None, ctypes.c_size_t(far), 1, 0x4022, -1, ctypes.c_long(0))\n"
    "for start in range(0, far, 1 << 21):\n    ctypes.string_at(at + start, 1)",
    "many small files": "for n in range(3_000_000):\n    open(str(n), 'w').close()",
    "many small files in shared memory": "for n in range(3_000_000):\n    open(f'/dev/shm/{n}', 'w').close()",
    "processes that first give their own away": "import subprocess\n"
    "code = 'import time; kept = bytearray(b\"x\") * (150 << 20); time.sleep(20)'\n"
    "family = [subprocess.Popen([sys.executable, '-S', '-c', code]) for _ in range(14)]",
    "sockets": "import socket\nkept = []\nfor _ in range(12):\n  if os.fork() == 0:\n    while True:\n"
    "      try:\n        pair = socket.socketpair()\n        kept.append(pair)\n        pair[0].setblocking(False)\n"
    "        while True: pair[0].send(bytes(1 << 16))\n      except BlockingIOError: pass\n"
    "      except OSError: import time; time.sleep(20)",
    "pages in pipes": "libc.vmsplice(os.pipe()[1], None, 0, 0) == -1 and ctypes.get_errno() == 1 and sys.exit('refused')\n"
    "raise SystemError('vmsplice')",
}
SHARES = {
    "multiprocessing": "import multiprocessing as mp\ncontext = mp.get_context('fork')\n"
    "area, lock = context.Array('d', 1000), context.Lock()\ndef work(n):\n    with lock: area[n] = n\n    return n\n"
    "with context.Pool(2) as pool: assert pool.map(work, range(9)) == list(range(9))\nassert area[8] == 8\n"
    "queue = context.Queue()\nqueue.put(3)\nassert queue.get() == 3",
    "torch": "import torch\nassert torch.ones(1000).share_memory_().sum() == 1000\n"
    "data = torch.utils.data.DataLoader(list(range(8)), batch_size=4, num_workers=1)\n"
    "assert [len(batch) for batch in data] == [4, 4]",
    "numba": "import numba, numpy as np\n@numba.njit(parallel=True)\ndef total(x):\n    s = 0.0\n"
    "    for i in numba.prange(x.size): s += x[i]\n    return s\nassert total(np.ones(1000)) == 1000",
    "asyncio and threads": "import asyncio, threading\nasyncio.new_event_loop().run_until_complete(asyncio.sleep(0))\n"
    "thread = threading.Thread(target=print)\nthread.start()\nthread.join()",
    "a shared name": "from multiprocessing import shared_memory as s\narea = s.SharedMemory(create=True, size=1 << 20)\n"
    "area.buf[0] = 1\narea.close()\narea.unlink()",
}


@pytest.mark.skipif(platform.system() != "Linux", reason="the sandbox is Linux's")
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_way_to_more_memory_than_there_is(graded, attack):
    before = psutil.virtual_memory().available
    tried = f"{START}try:\n{textwrap.indent(attack + HOLD, '    ')}\nexcept BaseException as fault:\n    print('fault', repr(fault))"
    (result,) = (report := graded(f"{tried}\n{HEAD}{SOLUTION}", limit=20.0)).exercises
    kept = result.passed and "fault" in report.output and "SystemError" not in report.output
    assert kept or result.verdict == "out_of_memory", (result, report.output)
    assert before - psutil.virtual_memory().available < 3 << 30


@pytest.mark.parametrize("source", SHARES.values(), ids=SHARES)
def test_what_libraries_share_among_processes_still_works(graded, source):
    report = graded(f"{source}\n{HEAD}{SOLUTION}")
    assert report.passed, (report.exercises[0].message, report.output)
