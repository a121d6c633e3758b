"""Steps under jax.profiler (xla_profile.py): XLA's operators, whose scopes the compiled text has."""
import jax

from hotlap.engines import abi, xla_profile


class Profiler(xla_profile.Profiler):
    def __init__(self):
        if not hasattr(jax.profiler, 'ProfileData'):
            raise abi.Unimplemented(f'jax {jax.__version__} cannot read its own profiles; 0.6 can')
        self.operators = {}
        super().__init__()

    def start(self, folder):
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)

    def stop(self):
        jax.profiler.stop_trace()

    def annotation(self, name):
        return jax.profiler.TraceAnnotation(name)

    def lines(self, path):
        for plane in jax.profiler.ProfileData.from_file(path).planes:
            for line in plane.lines:
                yield [(e.name, e.start_ns, e.duration_ns, dict(e.stats)) for e in line.events]

    def operator(self, event, program):
        name, _, _, statistics = event
        if 'hlo_op' not in statistics:
            return None
        if program not in self.operators:
            self.operators[program] = [xla_profile.Operators(f.as_text())
                                       for f in program.compiled_functions()]
        known = self.operators[program]
        return name, *next((o for o in known if name in o.at), known[0]).find(name)
