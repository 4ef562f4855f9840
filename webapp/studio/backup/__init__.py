"""Backup and restore of all state of a workspace or of a class, while they are in use."""
