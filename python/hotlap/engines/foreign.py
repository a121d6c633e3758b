"""Foreign models: what a function package.module:function returns, whatever the framework.

The function takes no arguments and returns (model, inputs), or a dict:

    model       what is called with the inputs
    inputs      an array, or a tuple (positional) or dict (by keyword) of them; what is no array is
                passed on as it is
    parameters  jax: arrays in any pytree, the model's first argument; also (model, parameters, inputs)
    loss        training: a function of outputs and targets, in place of --loss
    batch       where the batch is: an axis for all inputs, or a dict of axes by input, None for an
                input without it; default: the first dimension of each
"""
import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import os
import random
import sys

from hotlap.engines import abi

KEYS = 'model', 'inputs', 'parameters', 'loss', 'batch'
PLAIN = type(None), bool, int, float, str


class Surroundings:
    """What a user's code may do to the process: fork and go on in the child, go to another folder."""

    def __init__(self, name, note):
        self.name, self.note, self.pid, self.folder = name, note, os.getpid(), os.getcwd()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if os.getpid() != self.pid:
            os._exit(0)  # a second process must not answer for this one
        try:
            moved = os.getcwd() != self.folder
        except FileNotFoundError:
            moved = True
        if moved:
            os.chdir(self.folder)
            self.note(f'{self.name} changed the working directory; hotlap went back')


def is_path(name):
    """Of a file or folder, and no package.module:function."""
    return '/' in name or ':' not in name


def describe(failure):
    return f'{type(failure).__name__}: {failure}' if str(failure) else type(failure).__name__


def passes(failure, engine):
    """What is said in its own words: hotlap's own, and a lack of memory."""
    return isinstance(failure, abi.Failure) or engine.is_out_of_memory(failure)


def use_folder():
    """Modules are looked for where the command was given, first, as Python itself would."""
    folder = os.getcwd()
    sys.path[:] = [folder] + [p for p in sys.path if p not in (folder, '')]


def hidden_by(module):
    """The file in this folder that would be `module` if another one were not loaded already."""
    top = module.__name__.partition('.')[0]
    for path in (f'{top}.py', os.path.join(top, '__init__.py')):
        here = os.path.abspath(path)
        found = getattr(sys.modules.get(top), '__file__', None)
        if os.path.isfile(here) and (not found or not os.path.samefile(here, found)):
            return f'; {path} here is hidden by it: give the file another name'
    return ''


def no_module(name, module_name, failure):
    top = module_name.partition('.')[0]
    remedy = f' (write {top}:{name.partition(":")[2]}, without .py)' \
        if module_name.endswith('.py') else ''
    if failure.name == top:
        return abi.NotFound(f"{name}: there is no module '{top}' in {os.getcwd()}, on PYTHONPATH or "
                            f'in {sys.executable}')
    return abi.NotFound(f'{name}: {failure}{remedy}')


def find(name, engine):
    """The function."""
    module_name, _, path = name.partition(':')
    try:
        module = importlib.import_module(module_name)
    except BaseException as failure:  # also SystemExit
        missing = isinstance(failure, ModuleNotFoundError) and failure.name and \
            (module_name + '.').startswith(failure.name + '.')
        if missing:
            raise no_module(name, module_name, failure) from None
        if passes(failure, engine):
            raise
        raise abi.Failure(f'{name}: importing {module_name} failed: {describe(failure)}') \
            from failure
    found = module
    for part in path.split('.'):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [n for n in dir(found) if n[0] != '_'], 3)
            place = getattr(module, '__file__', None) or 'built in'
            raise abi.NotFound(f"{name}: module {module_name} ({place}) has no '{part}'" +
                               (f'; near are {", ".join(near)}' if near else '') +
                               hidden_by(module))
        found = getattr(found, part)
    if not callable(found):
        raise abi.InvalidArgument(f'{name} is no function but a {type(found).__name__}')
    check_arguments(name, found)
    return module, found


def check_arguments(name, function):
    try:
        inspect.signature(function).bind()
    except TypeError as failure:
        raise abi.InvalidArgument(f'{name} is called without arguments, and it needs some: {failure}') \
            from None
    except ValueError:
        pass  # it does not tell


def call(name, function, engine):
    try:
        return function()
    except BaseException as failure:
        if passes(failure, engine):
            raise
        raise abi.Failure(f'{name} failed: {describe(failure)}') from failure


class Parts:
    """What the function returned, by name."""

    def __init__(self, name, value, takes_parameters):
        self.name, self.parameters, self.loss, self.batch = name, None, None, 0
        self.has_parameters = False
        if isinstance(value, dict):
            unknown = [str(key) for key in value if key not in KEYS]
            if unknown:
                raise abi.InvalidArgument(f"{name} returned a dict with '{unknown[0]}'; it may hold "
                                          f'{", ".join(KEYS)}')
            if 'model' not in value or 'inputs' not in value:
                raise abi.InvalidArgument(f"{name} returned a dict without 'model' or 'inputs'")
            if 'parameters' in value and not takes_parameters:
                raise abi.InvalidArgument(f"{name} returned 'parameters', which a model of this "
                                          'engine has in itself')
            self.has_parameters = 'parameters' in value
            for key, content in value.items():
                setattr(self, key, content)
        elif isinstance(value, tuple) and len(value) == 2:
            self.model, self.inputs = value
        elif isinstance(value, tuple) and len(value) == 3 and takes_parameters:
            self.model, self.parameters, self.inputs = value
            self.has_parameters = True
        else:
            what = f'a tuple of {len(value)}' if isinstance(value, tuple) else \
                'None' if value is None else f'a {type(value).__name__}'
            more = ', or (model, parameters, inputs)' if takes_parameters else ''
            raise abi.InvalidArgument(f'{name} returned {what}; expected (model, inputs){more}, or a '
                                      "dict with 'model' and 'inputs'")
        if not callable(self.model):
            raise abi.InvalidArgument(f'{name}: its model cannot be called: it is a '
                                      f'{type(self.model).__name__}')
        if self.loss is not None and not callable(self.loss):
            raise abi.InvalidArgument(f"{name}: its 'loss' is no function but a "
                                      f'{type(self.loss).__name__}')


class Arguments:
    """How the model is called: which of its arguments are inputs, and what the others are.
    `is_array` says whether a value is one of the framework's."""

    def __init__(self, parts, is_array, function):
        self.name, inputs = parts.name, parts.inputs
        if is_array(inputs):
            inputs = (inputs,)
        if not isinstance(inputs, (tuple, list, dict)):
            raise abi.InvalidArgument(f'{self.name}: its inputs are a {type(inputs).__name__}; '
                                      'expected an array, or a tuple or dict of them')
        if isinstance(inputs, dict):
            self.positional, self.keyword = [], dict(inputs)
        else:
            self.positional, self.keyword = list(inputs), {}
        names = positional_names(function, len(self.positional), parts.has_parameters)
        self.places, self.names, self.arrays = [], [], []
        for place, value in [*enumerate(self.positional), *self.keyword.items()]:
            called = names[place] if isinstance(place, int) else str(place)
            if is_array(value):
                self.places.append(place)
                self.names.append(called)
                self.arrays.append(value)
            elif not isinstance(value, PLAIN):
                raise abi.InvalidArgument(f"{self.name}: input '{called}' is a "
                                          f'{type(value).__name__}; expected an array of the '
                                          'framework, or a plain value')
        if not self.arrays:
            raise abi.InvalidArgument(f'{self.name}: its inputs hold no array of the framework')
        self.find_batch(parts.batch)

    def axis_of(self, batch, i):
        rank = len(self.arrays[i].shape)
        axis = batch.get(self.names[i], 0) if isinstance(batch, dict) else batch
        if axis is None or rank == 0 and not isinstance(batch, dict):
            return -1
        if not isinstance(axis, int) or not -rank <= axis < rank:
            raise abi.InvalidArgument(f"{self.name}: 'batch' says {axis!r} of input "
                                      f"'{self.names[i]}', which has {rank} dimensions")
        return axis % rank

    def find_batch(self, batch):
        if isinstance(batch, dict):
            for key in batch:
                if key not in self.names:
                    raise abi.InvalidArgument(f"{self.name}: 'batch' names an input '{key}'; there "
                                              f'are {", ".join(self.names)}')
        self.axes = [self.axis_of(batch, i) for i in range(len(self.arrays))]
        first = next((i for i, axis in enumerate(self.axes) if axis >= 0), None)
        self.batch = self.arrays[first].shape[self.axes[first]] if first is not None else 1
        for array, axis, name in zip(self.arrays, self.axes, self.names):
            if axis >= 0 and array.shape[axis] != self.batch:
                raise abi.InvalidArgument(
                    f"{self.name}: input '{self.names[first]}' is "
                    f"{'x'.join(map(str, self.arrays[first].shape))} and '{name}' is "
                    f"{'x'.join(map(str, array.shape))}: their batches differ. Name the inputs "
                    f"without one: return a dict with 'batch': {{'{name}': None}}")
        if self.batch < 1:
            raise abi.InvalidArgument(f'{self.name}: its inputs are of a batch of 0')

    def fill(self, arrays):
        """(positional, keyword) with these in the place of the example's."""
        positional, keyword = list(self.positional), dict(self.keyword)
        for place, array in zip(self.places, arrays):
            (positional if isinstance(place, int) else keyword)[place] = array
        return positional, keyword

    @property
    def is_simple(self):
        """Whether the inputs are all there is, in their order."""
        return not self.keyword and len(self.places) == len(self.positional)


def positional_names(function, count, skips_first):
    try:
        parameters = [p for p in inspect.signature(function).parameters.values()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters][skips_first:][:count]
    return names + [f'input{i}' for i in range(len(names), count)]


def flatten(value, is_array, path=''):
    """[(name, array)] of an output: arrays in tuples, lists and dicts; other values are left out."""
    if is_array(value):
        return [(path or 'output', value)]
    if isinstance(value, dict):
        items = [(str(key), content) for key, content in value.items()]
    elif isinstance(value, (tuple, list)):
        fields = getattr(value, '_fields', None) or [f'output{i}' if not path else str(i)
                                                     for i in range(len(value))]
        items = list(zip(fields, value))
    else:
        return []
    return [pair for key, content in items
            for pair in flatten(content, is_array, f'{path}.{key}' if path else key)]


def check_outputs(name, outputs, value):
    if not outputs:
        what = 'None' if value is None else f'a {type(value).__name__} without arrays'
        raise abi.InvalidArgument(f'{name}: the model returns {what} where outputs are expected')


def batch_axis(name, first, second, sizes):
    """The dimension that is as long as the batch at both sizes; -1 for none."""
    if len(first) != len(second):
        raise abi.Unimplemented(f'{name}: an output has {len(first)} dimensions at batch {sizes[0]} '
                                f'and {len(second)} at batch {sizes[1]}')
    for axis, pair in enumerate(zip(first, second)):
        if pair == sizes:
            return axis
    return -1


class Model:
    """Base of an engine's foreign model: makes it, and fills what `facts` and `describe` tell.
    A class has: `is_array(value)`, `take(parts)` (checks and keeps the model), `weigh(path)` (loads
    weights), `count()`, `run(arrays)` (outputs as they come), `grow(array, axis)` (one sample more),
    `element(array)` (ONNX's type), `largest(array)` (None for no integers)."""
    takes_parameters = False

    def __init__(self, engine, name, seed, weights):
        self.engine, self.name, self.not_a_number, self.infinite = engine, name, None, None
        if is_path(name):
            raise abi.Unimplemented(f'{name} is a model of Keras or TensorFlow: --engine tensorflow')
        with Surroundings(name, engine.note):
            use_folder()
            seed_all(seed)
            module, function = find(name, engine)
            parts = Parts(name, call(name, function, engine), self.takes_parameters)
            self.loss = parts.loss
            self.take(parts)
            if weights:
                self.weigh(weights)
            self.look()
        self.parameters = self.count()
        self.tell_source(module, function, weights)

    def note_loss(self):
        """Said of training."""
        if self.loss:
            self.engine.note("the loss is the function's own, in place of --loss, which only "
                             'shapes the targets')

    def look(self):
        """Runs the model on the examples, and once more with another batch."""
        a = self.arguments
        first = self.outputs_of(a.arrays)
        ports = [(n, self.element(n, x), tuple(x.shape)) for n, x in first]
        self.fixed_batch, axes = 0, [-1] * len(ports)
        if any(axis >= 0 for axis in a.axes):
            sizes = a.batch, a.batch + 1
            try:
                second = self.outputs_of([self.grow(x, axis) if axis >= 0 else x
                                          for x, axis in zip(a.arrays, a.axes)])
            except abi.Failure as failure:
                self.fixed_batch = a.batch
                self.engine.note(f'runs batches of {a.batch} only: with {a.batch + 1} ' +
                                 str(failure).partition('failed: ')[2][:200])
            else:
                if len(first) != len(second):
                    raise abi.Unimplemented(f'{self.name}: {len(first)} outputs at batch {sizes[0]} '
                                            f'and {len(second)} at batch {sizes[1]}')
                axes = [batch_axis(self.name, p[2], tuple(x.shape), sizes)
                        for p, (_, x) in zip(ports, second)]
        opened = [-1 if self.fixed_batch else axis for axis in a.axes]
        self.inputs = [self.port(n, self.element(n, x), tuple(x.shape), axis)
                       for n, x, axis in zip(a.names, a.arrays, opened)]
        self.outputs = [self.port(*p, axis) for p, axis in zip(ports, axes)]
        self.index_limits = [self.limit(x) for x in a.arrays]

    def limit(self, array):
        largest = self.largest(array)
        return largest + 1 if largest is not None and 0 <= largest < 1 << 62 else 0

    def port(self, name, dtype, dims, axis):
        if len(dims) > abi.MAX_RANK:
            raise abi.Unimplemented(f"{self.name}: '{name}' has {len(dims)} dimensions; at most "
                                    f'{abi.MAX_RANK} are possible')
        return abi.Port(name, dtype, [-1 if i == axis else d for i, d in enumerate(dims)])

    def outputs_of(self, arrays):
        try:
            value = self.run(arrays)
        except BaseException as failure:
            if passes(failure, self.engine):
                raise
            raise abi.Failure(f'{self.name}: calling the model on its example inputs failed: '
                              f'{describe(failure)}') from failure
        outputs = flatten(value, self.is_array)
        check_outputs(self.name, outputs, value)
        return outputs

    def tell_source(self, module, function, weights):
        """Which version of the code it is, as far as the function's own file tells."""
        code = inspect.unwrap(function)
        path = getattr(sys.modules.get(getattr(code, '__module__', None), module), '__file__', None)
        digest = hashlib.sha256()
        self.source = None
        if path and path.endswith('.py') and os.path.isfile(path):
            with open(path, 'rb') as file:
                digest.update(file.read())
            self.source = f'model code: {os.path.relpath(path)} with SHA-256 {digest.hexdigest()[:16]}'
        if weights:
            facts = os.stat(weights)
            digest.update(f'{weights} {facts.st_size} {facts.st_mtime_ns}'.encode())
        self.hash = int.from_bytes(digest.digest()[:8], 'little')


def named(keys):
    keys = list(keys)
    return ', '.join(keys[:5]) + (f' and {len(keys) - 5} more' if len(keys) > 5 else '')


def check_weights(name, path, own, given):
    """Raises what is missing, unexpected, or of another shape; both are shapes by name."""
    shapes = [f"{k} ({'x'.join(map(str, given[k]))} in the file, {'x'.join(map(str, own[k]))} in the "
              'model)' for k in own if k in given and given[k] != own[k]]
    wrong = [f'{what}: {named(keys)}' for what, keys in (
        ('missing', [k for k in own if k not in given]),
        ('unexpected', [k for k in given if k not in own]), ('of another shape', shapes)) if keys]
    if wrong:
        raise abi.BadData(f'--weights {path}: not those of {name}: ' + '; '.join(wrong))


def loss_of(program, results, targets):
    """By the function's own loss, whose arguments are lists only of several outputs: an array of one
    number."""
    if len(results) == 1:
        results, targets = results[0], targets[0]
    try:
        loss = program.own_loss(results, targets)
    except BaseException as failure:
        if passes(failure, program.engine):
            raise
        raise abi.Failure(f"{program.name}: its 'loss' failed: {describe(failure)}") from failure
    if getattr(loss, 'shape', None) is None or tuple(loss.shape) not in ((), (1,)):
        what = getattr(loss, 'shape', type(loss).__name__)
        raise abi.InvalidArgument(f"{program.name}: its 'loss' returned {what}; expected an array of "
                                  'one number')
    return loss.reshape(())


@contextlib.contextmanager
def new_file(model, path, writer):
    """Gives the name of a file that takes the place of `path` once it is whole."""
    part = f'{path}.{os.getpid()}.part'
    try:
        yield part
        os.replace(part, path)
    except Exception as failure:
        if passes(failure, model.engine):
            raise
        raise abi.Failure(f'{model.name}: {writer} failed: {describe(failure)}') from failure
    finally:
        if os.path.exists(part):
            os.unlink(part)


def require(package, purpose):
    if importlib.util.find_spec(package) is None:
        raise abi.Unavailable(f'{sys.executable} has no package {package}, which is needed {purpose}; '
                              f'{sys.executable} -m pip install {package}')


def seed_all(seed):
    """Of random numbers that a function may draw weights from."""
    random.seed(seed)
    numpy = sys.modules.get('numpy')
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
    torch = sys.modules.get('torch')
    if torch is not None:
        torch.manual_seed(seed & (1 << 63) - 1)
