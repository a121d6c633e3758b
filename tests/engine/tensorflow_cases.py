"""Run by tests/cli/tensorflow.py in an interpreter with TensorFlow: writes models into the folder it is given,
loads each as the engine does, and prints what came of it. One start of TensorFlow for all."""
import ctypes as C
import json
import os
import sys
import zipfile

from hotlap.engines import abi, tensorflow_engine  # before TensorFlow: it sets what that reads

import keras
import numpy as np
import tensorflow as tf

engine = tensorflow_engine.Engine(2, 'cpu', {}, lambda sentence: notes.append(sentence))
notes, told = [], {}
os.chdir(sys.argv[1])
keras.utils.set_random_seed(1)


def picture_net():
    x = keras.Input((16, 16, 3), name='picture')
    y = keras.layers.BatchNormalization()(keras.layers.Conv2D(8, 3, padding='same')(x))
    y = keras.layers.GlobalAveragePooling2D()(keras.layers.Activation('relu')(y))
    return keras.Model(x, keras.layers.Dense(5)(y))


def two_net():
    """Inputs and outputs by names, in another order than that of the alphabet."""
    row, ids = keras.Input((4,), name='row'), keras.Input((7,), name='ids', dtype='int32')
    words = keras.layers.Flatten()(keras.layers.Embedding(11, 6)(ids))
    y = keras.layers.Concatenate()([row, words])
    return keras.Model({'row': row, 'ids': ids},
                       {'second': keras.layers.Dense(3)(y), 'first': keras.layers.Dense(2)(y)})


class Twice(keras.layers.Layer):
    def call(self, x):
        return x * 2


class Subclass(keras.Model):
    def __init__(self, **more):
        super().__init__(**more)
        self.layer = keras.layers.Dense(2)

    def call(self, x):
        return self.layer(x)


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable([1., float('nan'), 2.])

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, 'words')])
    def words(self, words):
        return tf.strings.length(words)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, 'x')])
    def any_rank(self, x):
        return x

    @tf.function(input_signature=[tf.TensorSpec((5, 3), tf.float32, 'x')])
    def fixed(self, x):
        return tf.reduce_sum(x, 0)

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, 'x')])
    def nan(self, x):
        return x * self.weight


def outputs(model, arrays, shift=0):
    """As a row computes them; `shift`: how far from where TensorFlow wants them the inputs lie."""
    ports = [abi.Port(p.name, p.dtype, a.shape) for p, a in zip(model.inputs, arrays)]
    spec = type('Specification', (), dict(mode=abi.INFERENCE, dtype=1, inputs=ports))
    request, kept = model.prepare(spec).request(), []
    for i, (port, a) in enumerate(zip(ports, arrays)):
        room = (C.c_char * (a.nbytes + 128))()
        at = -C.addressof(room) % 64 + shift
        C.memmove(C.addressof(room) + at, b'\0' * a.nbytes, a.nbytes)
        request.bind(i, port.dtype, port.dims, C.addressof(room) + at, a.nbytes)
        kept.append((room, at))
    request.submit()
    for (room, at), a in zip(kept, arrays):  # what is read is what is there at a step
        C.memmove(C.addressof(room) + at, np.ascontiguousarray(a).ctypes.data, a.nbytes)
    request.submit()
    request.wait()
    made = []
    for i in range(len(model.outputs)):
        port, address, count = request.output(i)
        content = C.string_at(address, count)
        made.append((port.name, np.frombuffer(content, np.float32).reshape(port.dims)))
    return made


def error_of(path, net, arrays, named):
    model = tensorflow_engine.Engine.load_foreign(engine, path, 7, None)
    expected = net.predict_on_batch(arrays if not named else
                                    {p.name: a for p, a in zip(model.inputs, arrays)})
    worst = 0
    for shift in (0, 4):
        for name, y in outputs(model, arrays, shift):
            want = np.asarray(expected[name] if isinstance(expected, dict) else expected)
            assert y.shape == want.shape, (path, name, y.shape)
            worst = max(worst, float(abs(y - want).max()))
    told[path] = {'error': worst, 'parameters': model.parameters, 'limits': model.index_limits,
                  'inputs': [[p.name, p.dtype, *p.dims] for p in model.inputs],
                  'outputs': [[p.name, *p.dims] for p in model.outputs]}


def count_of_traces():
    """Each program is traced once, and what is called with another shape once more."""
    before = engine.compilations()
    function = engine.function(lambda x: x + 1)
    for length in (2, 2, 3):
        function(tf.zeros(length))
    after = engine.compilations()
    told['traces'] = {'programs': before[0], 'more': after[0] - before[0], 'ns': after[1] - before[1]}


def good_ones():
    net, two = picture_net(), two_net()
    for layer in net.layers:  # statistics that training would have left
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.moving_mean.assign(np.linspace(-.1, .1, 8))
            layer.moving_variance.assign(np.linspace(.5, 2, 8))
    pictures = np.random.default_rng(1).normal(size=(3, 16, 16, 3)).astype(np.float32)
    rows = np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
    ids = np.arange(21, dtype=np.int32).reshape(3, 7) % 11
    for path in ('net.keras', 'net.h5'):
        net.save(path)
        error_of(path, net, [pictures], False)
    net.export('saved', verbose=False)
    error_of('saved', net, [pictures], False)
    two.save('two.keras')
    two.export('two', verbose=False)
    error_of('two.keras', two, [ids, rows], True)
    error_of('two', two, [ids, rows], True)


def attempt(path):
    try:
        model = tensorflow_engine.Engine.load_foreign(engine, path, 7, None)
        told[path] = {'fixed': model.fixed_batch, 'nan': model.not_a_number}
    except BaseException as failure:
        told[path] = {'status': getattr(failure, 'status', None), 'said': str(failure)}


def bad_ones():
    x = keras.Input((3,))
    keras.Model(x, Twice()(x)).save('custom.keras')
    keras.Model(x, keras.layers.Lambda(lambda y: y + 1)(x)).save('lambda.keras')
    x = keras.Input((None, None, 3), name='picture')
    keras.Model(x, keras.layers.GlobalAveragePooling2D()(x)).save('dynamic.keras')
    keras.saving.register_keras_serializable('tests')(Subclass)
    net = Subclass()
    net(np.zeros((1, 3), np.float32))
    net.save('subclass.keras')
    with open('no-zip.keras', 'wb') as file:
        file.write(b'PK nothing')
    with open('no-hdf5.h5', 'wb') as file:
        file.write(b'nothing')
    with zipfile.ZipFile('hollow.keras', 'w') as archive:
        archive.writestr('config.json', '{}')
    module = Module()
    for name, signatures in (('bare', None), ('other', {'predict': module.nan}),
                             ('words', module.words), ('any', module.any_rank),
                             ('fixed', module.fixed), ('nan', module.nan)):
        tf.saved_model.save(module, name, signatures=signatures)
    os.mkdir('broken')
    with open('broken/saved_model.pb', 'wb') as file:
        file.write(b'\xff\xff')
    for path in ('custom.keras', 'lambda.keras', 'dynamic.keras', 'subclass.keras', 'no-zip.keras',
                 'no-hdf5.h5', 'hollow.keras', 'bare', 'other', 'words', 'any', 'fixed', 'nan',
                 'broken'):
        attempt('./' + path)


good_ones()
count_of_traces()
bad_ones()
sys.stdout.write(json.dumps(told))
