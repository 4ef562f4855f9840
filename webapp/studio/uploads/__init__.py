"""Data sets that users upload: examined in a limited process, kept by the hash of their content, within a quota."""
