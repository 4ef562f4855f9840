"""Compute as leases: who may use which part of this machine, and for how long.

- What is requested and granted: `lease` (values, and the interface `Store`), `machine` (devices, processes), `quota`.
- Who gets it and when: `turns` (the order of the queue), `sql` (the store), `opening` with `schema` and `migrations/`
  (its database), `remote` (the store of a class, over HTTP), `here` (the one that this process uses).
- What runs under a lease: `provisioner` (kernels), `jobs` with `detach` and `supervisor` (scripts), `zygote/` (the
  warm process that both are forked from); `binding`, `limits` and `record` (what a lease sets for a process).
- What people see of it: `room` (the queue), `sessions` with `meter` and `curves`, `culling`, `commands`.

Settings, from the environment; none is needed:

    SAMPAN_STORE           sqlite:///<file> or postgresql://...; else a file in the workspace
    SAMPAN_CLASS_SERVICE   address of a class's service, set by its Hub; it lends the places then
    SAMPAN_CLASS_WARM      folder of a class's warm process, set by its Hub; kernels and servers are its forks then
    SAMPAN_UPLOAD_GIB      GiB of uploaded data sets for one user; 2 if not set
    SAMPAN_CPU_SLOTS       sessions at a time on CPUs; one more is always kept for grading
    SAMPAN_SIMULATED_GPUS  simulated GPUs, for tests and demonstrations; marked wherever they are shown
    SAMPAN_CPU_HOURS       of sessions on a CPU slot that a person has in a week; else no limit
    SAMPAN_GPU_HOURS       the same on GPUs; half a GPU counts half
    SAMPAN_LONGEST_HOURS   that one session may last, extended or not (24)
    SAMPAN_IDLE_MINUTES    until an idle session is stopped (20)
    SAMPAN_WARM_KERNELS    0: no warm process to fork from; a kernel then takes seconds, and 300 MB are saved
    SAMPAN_THREADS         that a session computes with; else the cores of the machine, in a class a place's share of them
"""
