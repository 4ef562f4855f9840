"""Turns a process of root into one of another account, for good, before it reads anything that this account has sent."""

from __future__ import annotations

import ctypes
import os
import pwd

_DUMPABLE, _NO_NEW_PRIVILEGES = 4, 38  # of prctl(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


def become(uid: int) -> None:
    """Take the account's user, groups and a umask of 077; nothing can be undone. KeyError if there is no such account.

    Raises PermissionError for root, or if any right of root is left.
    """
    if uid <= 0:
        raise PermissionError(f"a fork of the class's warm process cannot have the account {uid}")
    person = pwd.getpwuid(uid)
    os.initgroups(person.pw_name, person.pw_gid)
    os.setresgid(person.pw_gid, person.pw_gid, person.pw_gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (person.pw_gid,) * 3 or _can_go_back():
        raise PermissionError(f"the rights of root could not be given up for {person.pw_name}")
    no_new_privileges()
    os.umask(0o077)
    # A change of accounts hides a process's /proc from its own account, where the service looks for the owner of a session.
    # There is nothing to hide: the warm process has no secrets.
    _prctl(_DUMPABLE, 1)


def no_new_privileges() -> None:
    """No program that this process starts can gain rights (setuid, capabilities of files)."""
    _prctl(_NO_NEW_PRIVILEGES, 1)


def _can_go_back() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")
