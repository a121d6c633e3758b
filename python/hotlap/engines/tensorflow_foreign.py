"""Models of a TensorFlow user's own: Keras files, SavedModels, and functions package.module:function
that return a model and example inputs."""
import hashlib
import os
import re
import zipfile

import numpy as np
import tensorflow as tf

from hotlap.engines import abi, foreign
from hotlap.engines.tensorflow_engine import Program as GraphProgram
from hotlap.engines.tensorflow_graph import DTYPES

ELEMENTS = {tf.as_dtype(dtype): number for number, dtype in DTYPES.items()}
FLOATS = {'float32': 1, 'float16': 10, 'bfloat16': 16, 'float64': 11}
SIGNATURE = 'serving_default'


def load(engine, name, seed, weights):
    if not foreign.is_path(name):
        return FunctionModel(engine, name, seed, weights)
    if weights:
        raise abi.InvalidArgument(f'--weights: {name} has weights of its own')
    return SavedModel(engine, name) if os.path.isdir(name) else KerasFile(engine, name, seed)


class Model(foreign.Model):
    """`call(tensors)` is the model, and `variables` what it has learnt."""
    own_dtype = 'float32'  # in which it computes

    @staticmethod
    def is_array(value):
        return isinstance(value, (tf.Tensor, tf.Variable))

    def run(self, arrays):
        with tf.device(self.engine.device):
            return self.call(arrays)

    def grow(self, array, axis):
        return tf.concat([array, tf.gather(array, [0], axis=axis)], axis)

    def element(self, name, array):
        if array.dtype not in ELEMENTS:
            what = 'text' if array.dtype == tf.string else array.dtype.name
            raise abi.Unimplemented(f"{self.name}: '{name}' is of {what}, which hotlap has no data of")
        return ELEMENTS[array.dtype]

    def largest(self, array):
        if not array.dtype.is_integer or not tf.size(array):
            return None
        return int(tf.reduce_max(array)) if int(tf.reduce_min(array)) >= 0 else None

    def examine(self, variables):
        """Counts their elements, and finds those that are no numbers."""
        for test, what, place in ((np.isnan, 'NaN', 'not_a_number'), (np.isposinf, '+Inf', 'infinite')):
            for v in variables:
                if tf.as_dtype(v.dtype).is_floating and test(v.numpy()).any():
                    setattr(self, place, f"weight '{v.name}' of {self.name} holds {what}")
                    break
        return sum(int(np.prod(v.shape)) for v in variables)

    def flat(self, *tensors):
        """Outputs in the order of the ports."""
        return tuple(x for _, x in foreign.flatten(self.call(tensors), self.is_array))

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            raise abi.Unimplemented(f'tensorflow: training of {self.name} is not implemented')
        return Program(self, specification)

    def export_onnx(self, path):
        """By the package tf2onnx."""
        foreign.require('tf2onnx', 'to write ONNX')
        import tf2onnx
        names = [p.name for p in self.outputs]

        def named(*tensors):
            return dict(zip(names, self.flat(*tensors)))
        specs = [tf.TensorSpec([None if d < 0 else d for d in p.dims], DTYPES[p.dtype], p.name)
                 for p in self.inputs]
        with foreign.new_file(self, path, 'tf2onnx') as part:
            made, _ = tf2onnx.convert.from_function(tf.function(named, autograph=False), specs, opset=17)
            written = {value.name: value for value in made.graph.output}
            del made.graph.output[:]
            made.graph.output.extend(written[name] for name in names)  # which it sorts
            with open(part, 'wb') as file:
                file.write(made.SerializeToString())


class Program(GraphProgram):
    def __init__(self, model, specification):
        self.engine, self.inputs, self.outputs = model.engine, specification.inputs, model.outputs
        own = FLOATS.get(model.own_dtype, 1)
        if specification.dtype not in (1, own):
            raise abi.Unimplemented(f'{model.name} computes in {model.own_dtype}, and in no other type')
        if own != 1:
            self.engine.note(f'{model.name} computes in {model.own_dtype}')
        self.compile(tf, model.flat, DTYPES)


class Arguments:
    """Of a model that says what its inputs are: zeros in their places."""

    def __init__(self, model, specifications):
        self.names, self.arrays, self.axes, self.batch = [], [], [], 1
        for name, spec in specifications:
            self.names.append(name)
            dims = self.dims_of(model, name, spec)
            self.axes.append(0 if dims and dims[0] is None else -1)
            self.arrays.append(tf.zeros([d or 1 for d in dims], model.numeric(name, spec.dtype)))
        if not self.names:
            raise abi.InvalidArgument(f'{model.name} has no inputs')
        firsts = {x.shape[0] if len(x.shape) else None for x in self.arrays}
        if max(self.axes) < 0 and len(firsts) == 1 and None not in firsts:  # a batch, and no other
            self.axes, self.batch = [0] * len(self.arrays), firsts.pop()

    @staticmethod
    def dims_of(model, name, spec):
        if spec.shape is None or getattr(spec.shape, 'rank', 0) is None:
            raise abi.Unimplemented(f"{model.name}: input '{name}' has no known number of dimensions; "
                                    'save the model with a shape for it')
        dims = list(spec.shape)
        for place, length in enumerate(dims[1:], 1):
            if length is None:
                text = 'x'.join('?' if d is None else str(d) for d in dims)
                raise abi.Unimplemented(
                    f"{model.name}: input '{name}' is {text}: dimension {place} is open, and only the "
                    'first, the batch, may be. Save the model with a fixed shape, or give '
                    'package.module:function, which returns it with example inputs')
        return dims


class PathModel(Model):
    """`open()` loads it, and returns [(name, specification)] of its inputs."""

    def __init__(self, engine, name):
        self.engine, self.name, self.not_a_number, self.infinite = engine, name, None, None
        self.loss = None
        with foreign.Surroundings(name, engine.note), tf.device(engine.device):
            self.arguments = Arguments(self, self.open())
            self.look()
        self.parameters = self.count()
        digest = hashlib.sha256()
        for path in self.files():
            with open(path, 'rb') as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        self.source = f'model file: {name} with SHA-256 {digest.hexdigest()[:16]}'
        self.hash = int.from_bytes(digest.digest()[:8], 'little')

    def numeric(self, name, dtype):
        dtype = tf.as_dtype(dtype)
        self.element(name, tf.TensorSpec([], dtype))
        return dtype

    def fail(self, failure, what):
        """Raises what is said in place of `failure`."""
        if foreign.passes(failure, self.engine):
            raise failure
        said = ' '.join(str(failure).split())
        raise abi.BadData(f'{self.name}: {what}: {type(failure).__name__}: {said[:300]}') from failure


class KerasFile(PathModel):
    def __init__(self, engine, name, seed):
        foreign.seed_all(seed)
        super().__init__(engine, name)

    def open(self):
        self.check()
        import keras
        try:
            model = keras.saving.load_model(self.name, compile=False)
        except BaseException as failure:
            self.fail(failure, self.reason(str(failure)))
        inputs = getattr(model, 'inputs', None)
        if not inputs:
            raise abi.Unimplemented(
                f'{self.name}: the model does not say what its inputs are (it is a subclass of '
                'keras.Model). Write it with model.export(FOLDER) and give that folder, or give '
                'package.module:function, which returns it with example inputs')
        for x in inputs:
            if getattr(x, 'sparse', False) or getattr(x, 'ragged', False):
                raise abi.Unimplemented(f"{self.name}: input '{x.name}' is sparse or ragged")
        self.model, self.own_dtype, self.tree = model, computes_in(model), keras.tree
        return [(x.name, x) for x in inputs]

    def check(self):
        """What Keras' own messages do not tell."""
        if self.name.endswith('.keras'):
            if not zipfile.is_zipfile(self.name):
                raise abi.BadData(f'{self.name} is no zip archive, as .keras files are')
            with zipfile.ZipFile(self.name) as archive:
                missing = {'config.json', 'model.weights.h5'} - set(archive.namelist())
            if missing:
                raise abi.BadData(f'{self.name} is no Keras file: it has no {min(missing)}')
            return
        import h5py
        if not h5py.is_hdf5(self.name):
            raise abi.BadData(f'{self.name} is no HDF5 file')

    @staticmethod
    def reason(said):
        found = re.search(r"(?:Could not locate class|Unknown layer:) '?([^'. ]+)", said)
        if found:
            return f"it is made of '{found[1]}', which Keras does not know. Give " \
                'package.module:function, whose module defines that, and which returns ' \
                'keras.models.load_model(FILE) and example inputs'
        if 'safe_mode' in said:
            return 'it holds Python code, which is not run from a file. Give package.module:function, ' \
                'which loads it with safe_mode=False'
        return 'Keras cannot load it'

    def call(self, tensors):
        try:
            structure = self.model.input
        except AttributeError:  # of a Sequential from a file
            structure = self.model.inputs[0]
        inputs = self.tree.pack_sequence_as(structure, list(tensors))
        return self.model(inputs, training=False)

    def count(self):
        self.examine(self.model.variables)
        return self.model.count_params()

    def largest(self, array):
        return None

    def limit(self, array):
        """Of numbers that are looked up in a table: its length."""
        import keras
        name = self.arguments.names[next(i for i, x in enumerate(self.arguments.arrays) if x is array)]
        lengths = [layer.input_dim for layer in self.model.layers
                   if isinstance(layer, keras.layers.Embedding) and
                   getattr(getattr(layer, 'input', None), 'name', None) == name]
        return min(lengths, default=0)

    def files(self):
        return [self.name]


def computes_in(model):
    """The type of most of its layers with weights."""
    types = [layer.compute_dtype for layer in getattr(model, '_flatten_layers', list)()
             if not getattr(layer, 'layers', None) and layer.variables]
    return max(set(types), key=types.count) if types else 'float32'


class SavedModel(PathModel):
    def open(self):
        try:
            self.model = tf.saved_model.load(self.name)
        except BaseException as failure:
            self.fail(failure, 'TensorFlow cannot load it')
        signatures = getattr(self.model, 'signatures', {})
        if SIGNATURE not in signatures:
            have = ', '.join(signatures) or 'none'
            raise abi.InvalidArgument(f"{self.name} has no signature '{SIGNATURE}'; it has {have}. Save "
                                      f"it with signatures={{'{SIGNATURE}': function}}")
        self.function = signatures[SIGNATURE]
        specs = dict(sorted(self.function.structured_input_signature[1].items()))
        self.specs, self.names = specs, list(specs)
        floats = [v.dtype.name for v in self.function.variables if v.dtype.is_floating]
        self.own_dtype = max(set(floats), key=floats.count) if floats else 'float32'
        return list(specs.items())

    def call(self, tensors):
        for x, (name, spec) in zip(tensors, self.specs.items()):
            if not spec.shape.is_compatible_with(x.shape):  # it would run, to whatever end
                raise ValueError(f"'{name}' is {spec.shape} in the signature and {x.shape} here")
        return dict(sorted(self.function(**dict(zip(self.names, tensors))).items()))

    def count(self):
        variables = self.function.variables
        count = self.examine(variables)
        return count if variables else -1  # constants of its graph, perhaps

    def largest(self, array):
        return None

    def files(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.name)
                      for name in names)


class FunctionModel(Model):
    """Of package.module:function: a Keras model, a tf.Module, or any function of tensors."""

    def take(self, parts):
        import keras
        self.model = parts.model
        self.is_keras = isinstance(self.model, keras.Model)
        if self.is_keras:
            self.own_dtype = computes_in(self.model)
        function = self.model.call if self.is_keras else self.model
        self.arguments = foreign.Arguments(parts, self.is_array, function)

    def call(self, tensors):
        positional, keyword = self.arguments.fill(tensors)
        if self.is_keras:
            keyword.setdefault('training', False)
        return self.model(*positional, **keyword)

    def weigh(self, path):
        if not self.is_keras or not path.endswith('.h5'):
            raise abi.InvalidArgument(f'--weights {path}: only a Keras model takes weights here, from a '
                                      'file that model.save_weights wrote (.weights.h5)')
        try:
            self.model.load_weights(path)
        except BaseException as failure:
            if foreign.passes(failure, self.engine):
                raise
            raise abi.BadData(f'{path}: the weights do not fit {self.name}: '
                              f'{foreign.describe(failure)}') from failure

    def count(self):
        variables = list(getattr(self.model, 'variables', ()))
        count = self.examine(variables)
        return self.model.count_params() if self.is_keras else count if variables else -1
