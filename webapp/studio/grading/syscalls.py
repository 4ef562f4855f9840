"""The system calls that a learner's code may not make: those that create namespaces, inspect other processes,
allocate memory that no limit counts, set timers that wake a process, or use parts of the kernel that computing
never needs. libseccomp writes the filter."""

from __future__ import annotations

import errno

import pyseccomp

NAMESPACE_FLAGS = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80)
SOCKET_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: in a network namespace without a network

REFUSED = (
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("keyctl", "add_key", "request_key"),
    *("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "open_by_handle_at", "name_to_handle_at", "fanotify_init"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd"),
    *("unshare", "setns"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup", "lookup_dcookie"),
    *("iopl", "ioperm", "modify_ldt", "personality", "settimeofday", "stime", "clock_settime"),
    *("clock_adjtime", "adjtimex", "sethostname", "setdomainname", "migrate_pages", "move_pages"),
    # Memory that belongs to no process, so that no limit counts it; shared memory uses /dev/shm, which is small.
    *("memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_notify", "vmsplice", "io_setup"),
    # Timers that could signal a stopped process. The interval timers of `setitimer` only send their own signals,
    # which do not continue a process.
    *("timer_create", "timerfd_create"),
)
MAP_SHARED_ANONYMOUS = 0x21
INT = 0xFFFFFFFF  # the bits that the kernel reads of an int argument
PR_SET_PDEATHSIG, F_SETSIG = 1, 10  # other ways to set a signal that is sent without a running process


def learners_filter() -> pyseccomp.SyscallFilter:
    """A filter that answers EPERM; `load()` applies it permanently to the calling process and all its children.

    A call that the kernel does not have is left out. Code for a foreign architecture is killed.
    """
    made = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for name in REFUSED:
        if _known(name):
            made.add_rule(refuse, name)
    for flag in NAMESPACE_FLAGS:
        made.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    made.add_rule(
        refuse, "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, MAP_SHARED_ANONYMOUS, MAP_SHARED_ANONYMOUS)
    )
    made.add_rule(refuse, "prctl", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, INT, PR_SET_PDEATHSIG))
    made.add_rule(refuse, "fcntl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, INT, F_SETSIG))
    if _known("clone3"):  # its flags are in memory, which a filter cannot read: libc falls back to clone
        made.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    _only_families(made, pyseccomp.ERRNO(errno.EAFNOSUPPORT))
    return made


def _only_families(made: pyseccomp.SyscallFilter, refuse: int) -> None:
    """Sockets of families that a network namespace does not confine (vsock) are refused."""
    allowed = sorted(SOCKET_FAMILIES)
    for family in range(1 + allowed[-1]):
        if family not in allowed:
            made.add_rule(refuse, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
    made.add_rule(refuse, "socket", pyseccomp.Arg(0, pyseccomp.GT, allowed[-1]))


def _known(name: str) -> bool:
    try:
        return pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0
    except ValueError:
        return False
