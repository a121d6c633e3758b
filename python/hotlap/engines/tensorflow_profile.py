"""Steps under tf.profiler (xla_profile.py): what its executor ran, `scope/node:Kind`."""
import re

import tensorflow as tf

from hotlap.engines import abi, xla_profile

RAN = re.compile(r'^([^\s:]+):([A-Za-z_]\w*)$')


class Profiler(xla_profile.Profiler):
    def __init__(self):
        try:
            from tensorflow.tsl.profiler.protobuf import xplane_pb2
        except ImportError as failure:
            raise abi.Unimplemented(f'tensorflow {tf.__version__} cannot read its own profiles') from failure
        self.space = xplane_pb2.XSpace()
        super().__init__()

    def start(self, folder):
        tf.profiler.experimental.start(folder, options=tf.profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0))

    def stop(self):
        tf.profiler.experimental.stop()

    def annotation(self, name):
        return tf.profiler.experimental.Trace(name)

    def lines(self, path):
        with open(path, 'rb') as file:
            self.space.ParseFromString(file.read())
        for plane in self.space.planes:
            is_xla = {i for i, s in plane.stat_metadata.items() if s.name == 'hlo_op'}
            for line in plane.lines:
                yield [(plane.event_metadata[e.metadata_id].name,
                        line.timestamp_ns + e.offset_ps / 1e3, e.duration_ps / 1e3,
                        {'hlo_op': True} if any(s.metadata_id in is_xla for s in e.stats) else {})
                       for e in line.events]

    def operator(self, event, program):
        name, _, _, statistics = event
        if 'hlo_op' in statistics:  # of a function that XLA compiled: it tells no scopes
            return name, re.sub(r'[.\d]+$', '', name), ''
        ran = RAN.match(name)
        return (ran.group(1).rpartition('/')[2], ran.group(2), ran.group(1)) if ran else None
