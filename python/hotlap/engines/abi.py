"""The structs of hotlap/engine.h for ctypes, and an engine written in Python behind its table.

An engine is a class with the methods of `Engine` below. What they raise becomes a status: one of
the exceptions here its own, MemoryError OUT_OF_MEMORY, everything else INTERNAL with its traceback.
"""
import ctypes as C
import functools
import traceback

ABI, MAX_RANK = 1, 8
OK, INVALID_ARGUMENT, BAD_DATA, NOT_FOUND, IO, OUT_OF_MEMORY, UNIMPLEMENTED, UNAVAILABLE = range(8)
INTERNAL = 12
INFERENCE, TRAINING = 0, 1
LOSSES = 'cross-entropy', 'mse', 'mae', 'poisson', 'dice-ce', 'host'
OPTIMIZERS = 'sgd', 'adam', 'adamw'
PHASES = FORWARD, LOSS, BACKWARD, OPTIMIZER = range(4)


class Failure(Exception):
    """What a hook returns: a status with a sentence that names the place and the remedy."""
    status = INTERNAL


class InvalidArgument(Failure):
    status = INVALID_ARGUMENT


class BadData(Failure):
    status = BAD_DATA


class NotFound(Failure):
    status = NOT_FOUND


class OutOfMemory(Failure):
    status = OUT_OF_MEMORY


class Unimplemented(Failure):
    status = UNIMPLEMENTED


class Unavailable(Failure):
    status = UNAVAILABLE


class Error(C.Structure):
    _fields_ = [('status', C.c_int), ('sys_errno', C.c_int), ('msg', C.c_char * 512)]


class TensorView(C.Structure):
    _fields_ = [('name', C.c_char_p), ('dtype', C.c_int), ('rank', C.c_int32),
                ('dims', C.c_int64 * MAX_RANK), ('data', C.c_void_p), ('bytes', C.c_uint64)]


class CPort(C.Structure):
    _fields_ = [('name', C.c_char_p), ('dtype', C.c_int), ('rank', C.c_int32),
                ('dims', C.c_int64 * MAX_RANK)]


class Host(C.Structure):
    _fields_ = [('abi', C.c_uint32), ('size', C.c_uint32),
                ('log', C.CFUNCTYPE(None, C.c_char_p, C.c_char_p)),
                ('note', C.CFUNCTYPE(None, C.c_char_p, C.c_char_p)),
                ('explain', C.CFUNCTYPE(None, C.c_char_p)), ('library', C.c_char_p),
                ('prefixes', C.POINTER(C.c_char_p)),
                ('read_profile', C.CFUNCTYPE(C.c_int, C.c_char_p, C.c_size_t,
                                             C.POINTER(C.c_uint64), C.c_size_t, C.c_void_p,
                                             C.c_void_p, C.c_void_p))]


class Option(C.Structure):
    _fields_ = [('key', C.c_char_p), ('value', C.c_char_p)]


class EngineConfig(C.Structure):
    _fields_ = [('size', C.c_uint32), ('threads', C.c_int32), ('device', C.c_char_p),
                ('options', C.POINTER(Option)), ('option_count', C.c_size_t),
                ('provider', C.c_char_p)]


class OptionInfo(C.Structure):
    _fields_ = [('key', C.c_char_p), ('values', C.c_char_p), ('doc', C.c_char_p)]


class ModelSource(C.Structure):
    _fields_ = [('size', C.c_uint32), ('path', C.c_char_p), ('is_foreign', C.c_uint32),
                ('seed', C.c_uint64), ('weights', C.c_char_p)]


class ModelInfo(C.Structure):
    _fields_ = [('size', C.c_uint32), ('inputs', C.POINTER(CPort)), ('input_count', C.c_size_t),
                ('outputs', C.POINTER(CPort)), ('output_count', C.c_size_t)]


class ModelFacts(C.Structure):
    _fields_ = [('size', C.c_uint32), ('parameters', C.c_int64), ('fixed_batch', C.c_int64),
                ('index_limits', C.POINTER(C.c_int64)), ('source', C.c_char_p),
                ('hash', C.c_uint64), ('not_a_number', C.c_char_p), ('infinite', C.c_char_p)]


class TrainingSpec(C.Structure):
    _fields_ = [('size', C.c_uint32), ('loss', C.c_int), ('optimizer', C.c_int),
                ('nesterov', C.c_uint32), ('momentum', C.c_double), ('beta1', C.c_double),
                ('beta2', C.c_double), ('epsilon', C.c_double), ('weight_decay', C.c_double),
                ('clip_norm', C.c_double), ('seed', C.c_uint64), ('accumulate', C.c_uint32),
                ('recompute', C.c_uint32), ('gradient_ready', C.c_void_p),
                ('gradients_wait', C.c_void_p), ('context', C.c_void_p),
                ('states_of', C.c_void_p), ('host_loss', C.c_void_p),
                ('host_loss_context', C.c_void_p), ('restarts', C.c_uint32)]


class ProgramSpec(C.Structure):
    _fields_ = [('size', C.c_uint32), ('mode', C.c_int), ('dtype', C.c_int),
                ('inputs', C.POINTER(CPort)), ('input_count', C.c_size_t),
                ('known', C.POINTER(TensorView)), ('training', C.POINTER(TrainingSpec))]


class EngineMemory(C.Structure):
    _fields_ = [('size', C.c_uint32)] + [(name, C.c_uint64) for name in (
        'allocated_bytes', 'reserved_bytes', 'peak_bytes', 'device_allocated_bytes',
        'device_peak_bytes', 'device_reserved_bytes')]


class Compilations(C.Structure):
    _fields_ = [('size', C.c_uint32), ('count', C.c_uint64), ('duration_ns', C.c_uint64)]


class Span(C.Structure):
    _fields_ = [('size', C.c_uint32), ('name', C.c_char_p), ('kind', C.c_char_p),
                ('layer', C.c_char_p), ('phase', C.c_int32), ('thread', C.c_int32),
                ('start_ns', C.c_uint64), ('duration_ns', C.c_uint64), ('flops', C.c_double),
                ('bytes', C.c_double), ('memory_bytes', C.c_double)]


POINTER_TO_ERROR, POINTER = C.c_void_p, C.c_void_p  # numbers: a pointer object costs a microsecond
HOOKS = [  # the table's members after its name, with what each takes
    ('version', POINTER, []),
    ('probe', C.c_int, [POINTER, POINTER_TO_ERROR]),
    ('open', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('load', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('describe', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('plan', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('prepare', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('request', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('bind', C.c_int, [POINTER, C.c_size_t, POINTER, POINTER_TO_ERROR]),
    ('submit', C.c_int, [POINTER, POINTER_TO_ERROR]),
    ('wait', C.c_int, [POINTER, POINTER_TO_ERROR]),
    ('output', C.c_int, [POINTER, C.c_size_t, POINTER, POINTER_TO_ERROR]),
    ('request_free', None, [POINTER]),
    ('program_free', None, [POINTER]),
    ('model_free', None, [POINTER]),
    ('close', None, [POINTER]),
    ('memory', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('profile', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('state_read', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('state_write', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('option_table', 'data', None),
    ('providers', 'data', None),
    ('inspect', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('stream', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('states', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('phases', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('trace', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('allocations', C.c_int, [POINTER] * 4 + [POINTER_TO_ERROR]),
    ('compile_time', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('facts', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('export_onnx', C.c_int, [POINTER, C.c_char_p, POINTER_TO_ERROR]),
    ('compilations', C.c_int, [POINTER] * 2 + [POINTER_TO_ERROR]),
    ('spans', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
    ('spans_end', C.c_int, [POINTER] * 3 + [POINTER_TO_ERROR]),
]
NEEDS = {'hook_facts': 'load_foreign', 'hook_export_onnx': 'load_foreign',
         'hook_spans': 'profiles', 'hook_spans_end': 'profiles'}  # of the engine's class
TYPES = {name: C.CFUNCTYPE(result, *arguments) for name, result, arguments in HOOKS
         if result != 'data'}
VISIT = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p, C.c_char_p)


class EngineOps(C.Structure):
    _fields_ = [('abi', C.c_uint32), ('size', C.c_uint32), ('name', C.c_char_p)] + [
        (name, TYPES.get(name, C.c_void_p)) for name, _, _ in HOOKS]


STRUCTS = (Error, TensorView, CPort, Host, EngineConfig, ModelSource, ModelInfo, ModelFacts,
           TrainingSpec, ProgramSpec, EngineMemory, Compilations, Span, EngineOps)


class Port:
    """An input or output: name, ONNX element type, dimensions (-1: open)."""

    def __init__(self, name, dtype, dims):
        self.name, self.dtype, self.dims = name, dtype, tuple(dims)


class Training:
    """What a step of training consists of: the members of hl_training_spec."""

    def __init__(self, c):
        for name, _ in c._fields_:
            setattr(self, name, getattr(c, name))
        self.loss = LOSSES[c.loss]
        self.optimizer = OPTIMIZERS[c.optimizer]


class Specification:
    """What `prepare` is to compile for."""

    def __init__(self, c):
        self.mode, self.dtype = c.mode, c.dtype
        self.c_inputs, self.count = c.inputs, c.input_count
        self.training = Training(c.training[0]) if c.mode == TRAINING else None
        self.inputs = [Port(p.name.decode(), p.dtype, p.dims[:p.rank])
                       for p in (c.inputs[i] for i in range(c.input_count))]


def cut(text, most):
    """Its bytes in UTF-8, whole characters, without what C takes for an end."""
    whole = text.replace('\0', ' ').encode(errors='replace')
    return whole[:most].decode(errors='ignore').encode()


class Table:
    """The table of one engine. Objects are known to C by numbers."""

    def __init__(self, engine_class):
        self.type, self.objects, self.next = engine_class, {}, 1
        self.host, self.kept, self.names = None, [], {}
        self.ops = EngineOps(abi=ABI, size=C.sizeof(EngineOps),
                             name=self.keep(engine_class.name.encode()))
        for name, function in vars(type(self)).items():
            if name.startswith('hook_') and (name not in NEEDS or
                                             hasattr(engine_class, NEEDS[name])):
                hook = TYPES[name[5:]]
                tells = hook._restype_ is C.c_int
                setattr(self.ops, name[5:], self.keep(hook(
                    self.guard(function) if tells else functools.partial(function, self))))
        for function in self.step_hooks():
            setattr(self.ops, function.__name__, self.keep(TYPES[function.__name__](function)))
        options = engine_class.options
        if options is None:  # it does not tell
            return
        table = (OptionInfo * (len(options) + 1))(*(
            OptionInfo(key.encode(), values.encode(), doc.encode())
            for key, (values, doc) in options.items()))
        self.ops.option_table = C.addressof(self.keep(table))

    def keep(self, thing):
        """Lives as long as the process."""
        self.kept.append(thing)
        return thing

    def guard(self, function):
        """A hook that returns a status."""
        def hook(*arguments):
            try:
                function(self, *arguments[:-1])
                return OK
            except BaseException as failure:  # also SystemExit: nothing of it may reach C
                try:
                    return self.fail(failure, arguments[-1])
                except BaseException:  # a failure that cannot even be told
                    return self.fail(Failure(type(failure).__name__), arguments[-1])
        return hook

    def step_hooks(self):
        """What is called at each step: guarded, in as few instructions as it takes."""
        objects = self.objects

        def bind(request, number, view, error):
            try:
                r, v = objects[request], TensorView.from_address(view)
                rebind = getattr(r, 'rebind', None)
                if rebind is None or not rebind(number, v.data):
                    r.bind(number, v.dtype, v.dims[:v.rank], v.data, v.bytes)
                return OK
            except BaseException as failure:
                return self.fail(failure, error)

        def submit(request, error):
            try:
                objects[request].submit()
                return OK
            except BaseException as failure:
                return self.fail(failure, error)

        def wait(request, error):
            try:
                objects[request].wait()
                return OK
            except BaseException as failure:
                return self.fail(failure, error)
        return bind, submit, wait

    def fail(self, failure, address):
        if isinstance(failure, Failure):  # others may have a status that means something else
            status = failure.status
        else:
            status = OUT_OF_MEMORY if self.type.is_out_of_memory(failure) else INTERNAL
        text = str(failure) or type(failure).__name__
        if not isinstance(failure, Failure):
            text = f'{self.type.name}: {type(failure).__name__}: {text}'
        if status == INTERNAL and self.host and self.host.explain:
            whole = ''.join(traceback.format_exception(failure))
            text = text.split('\n')[0]
            self.host.explain(cut(f'{text}\n{whole}', 65000))
        if address:
            error = Error.from_address(address)
            error.status, error.sys_errno = status, 0
            error.msg = cut(text, 511)
        return status

    def add(self, thing, ret_address):
        number = self.next
        self.next += 1
        self.objects[number] = thing
        C.c_void_p.from_address(ret_address).value = number

    def hook_version(self):
        text = self.keep(C.create_string_buffer(self.type.version().encode()))
        return C.addressof(text)

    def hook_probe(self, host):
        self.host = Host.from_address(host)
        self.type.probe()

    def hook_inspect(self, host, visit, context):
        for name, text in self.type.inspect().items():
            VISIT(visit)(context, name.encode(), text.encode())

    def hook_open(self, host, config, ret):
        c = EngineConfig.from_address(config)
        options = {c.options[i].key.decode(): c.options[i].value.decode()
                   for i in range(c.option_count)}
        options.pop('python', None)
        for key in options:
            if key not in self.type.options:
                known = ', '.join(self.type.options) or 'none'
                raise InvalidArgument(f"{self.type.name}: no engine option '{key}'; it has {known}")
        self.add(self.type(c.threads, c.device.decode(), options, self.note), ret)

    def note(self, sentence):
        self.host.note(self.type.name.encode(), cut(sentence, 2000))

    def hook_load(self, engine, source, ret):
        c, engine = ModelSource.from_address(source), self.objects[engine]
        path = c.path.decode()
        model = engine.load_foreign(path, c.seed, c.weights.decode() if c.weights else None) \
            if c.is_foreign else engine.load(path)
        self.add(model, ret)

    def hook_facts(self, model, ret):
        """Of a model with `parameters`, `fixed_batch`, `index_limits`, `source` and `hash`."""
        m, c = self.objects[model], ModelFacts.from_address(ret)
        c.parameters, c.fixed_batch, c.hash = m.parameters, m.fixed_batch, m.hash
        c.index_limits = self.keep((C.c_int64 * max(1, len(m.inputs)))(*m.index_limits))
        for name in ('source', 'not_a_number', 'infinite'):
            text = getattr(m, name)
            setattr(c, name, self.keep(text.encode()) if text else None)

    def hook_export_onnx(self, model, path):
        m = self.objects[model]
        if not hasattr(m, 'export_onnx'):
            raise Unimplemented(f'{self.type.name}: to write ONNX is not implemented')
        m.export_onnx(path.decode())

    def ports(self, ports):
        array = (CPort * max(1, len(ports)))()
        for c, p in zip(array, ports):
            c.name, c.dtype, c.rank = self.keep(p.name.encode()), p.dtype, len(p.dims)
            c.dims[:len(p.dims)] = p.dims
        return self.keep(array)

    def hook_describe(self, model, ret):
        m, info = self.objects[model], ModelInfo.from_address(ret)
        if not hasattr(m, 'c_ports'):
            m.c_ports = self.ports(m.inputs), self.ports(m.outputs)
        info.inputs, info.input_count = m.c_ports[0], len(m.inputs)
        info.outputs, info.output_count = m.c_ports[1], len(m.outputs)

    def hook_prepare(self, model, spec, ret):
        specification = Specification(ProgramSpec.from_address(spec))
        if specification.training:
            specification.training.states_of = self.objects.get(specification.training.states_of)
        self.add(self.objects[model].prepare(specification), ret)

    def hook_request(self, program, ret):
        self.add(self.objects[program].request(), ret)

    def hook_output(self, request, number, ret):
        port, address, count = self.objects[request].output(number)
        self.fill(TensorView.from_address(ret), port, address, count)

    def fill(self, view, port, address, count):
        if port.name not in self.names:
            self.names[port.name] = port.name.encode()
        view.name, view.dtype, view.rank = self.names[port.name], port.dtype, len(port.dims)
        view.dims[:len(port.dims)] = port.dims
        view.data, view.bytes = address, count

    def hook_compile_time(self, program, ret):
        spent = getattr(self.objects[program], 'compile_ns', None)
        if spent is None:
            raise Unimplemented('nothing was compiled')
        C.c_uint64.from_address(ret).value = spent

    def hook_compilations(self, engine, ret):
        e = self.objects[engine]
        if not hasattr(e, 'compilations'):
            raise Unimplemented('it does not tell what it compiles')
        compilations = Compilations.from_address(ret)
        compilations.count, compilations.duration_ns = e.compilations()

    def hook_states(self, program, ret_states, ret_count):
        p = self.objects[program]
        ports = p.states()
        if not hasattr(p, 'c_states'):
            p.c_states = self.ports(ports)
        C.c_void_p.from_address(ret_states).value = C.addressof(p.c_states)
        C.c_size_t.from_address(ret_count).value = len(ports)

    def hook_state_read(self, program, name, ret):
        name = C.string_at(name).decode()
        port, address, count = self.objects[program].state_read(name)
        self.fill(TensorView.from_address(ret), port, address, count)

    def hook_state_write(self, program, view):
        v = TensorView.from_address(view)
        self.objects[program].state_write(v.name.decode(), v.dtype, v.dims[:v.rank], v.data, v.bytes)

    def hook_phases(self, request, ret):
        r = self.objects[request]
        if not hasattr(r, 'phases'):
            raise Unimplemented('its phases are one step')
        (C.c_uint64 * len(PHASES)).from_address(ret)[:] = r.phases()

    def hook_spans(self, request, visit, context):
        """A step under the profiler; `spans_end` tells what it saw. Of an engine with `profiles`."""
        r = self.objects[request]
        if not hasattr(r, 'profiled_step'):
            raise Unimplemented(f'{self.type.name}: this program tells no times of operators')
        r.profiled_step()

    def hook_spans_end(self, request, visit, context):
        """`profiled` of a request: a document that the host reads, and when its steps began."""
        text, starts = self.objects[request].profiled()
        if not starts:
            return
        error = Error()
        if not self.host.read_profile:
            raise Unimplemented(f'{self.type.name}: this hotlap reads no profiles')
        status = self.host.read_profile(text, len(text), (C.c_uint64 * len(starts))(*starts),
                                        len(starts), visit, context, C.addressof(error))
        if status != OK:
            failure = Failure(error.msg.decode(errors='replace'))
            failure.status = status
            raise failure

    def hook_memory(self, engine, ret):
        memory = EngineMemory.from_address(ret)
        for name, value in self.objects[engine].memory().items():
            setattr(memory, name, value)

    def forget(self, number):
        self.objects.pop(number, None)

    hook_request_free = hook_program_free = hook_model_free = hook_close = forget
