"""Training runs of several processes, where there is an MPI."""
from harness import Skip


def with_mpi(run):
    """The run; skips the case where there is no MPI."""
    for found in run.rows if run.out.startswith('{') else ():
        if found['outcome'] == 'SKIPPED' and './quickstart --mpi' in found['reason']:
            raise Skip(found['reason'])
    return run
