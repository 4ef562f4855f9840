"""Compute as leases: who may use which part of this machine, and for how long."""
