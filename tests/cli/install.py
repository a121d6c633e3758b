"""The installed tree: complete, free of the source tree and of the build tree, good for plug-ins."""
import os
import pathlib
import re
import shutil
import subprocess

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, main

BUILD = pathlib.Path(PROGRAM).parent
STAGE = HOME / 'stage'
MOVED = HOME / 'moved'


def clean(**changes):
    """Without the library path that meson sets, which leads to the build."""
    return environment(LD_LIBRARY_PATH=None, **changes)


def run(*command, env=None, status=0):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors='replace',
                          timeout=300, cwd=HOME, env=env or clean())
    assert done.returncode == status, f'{command}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}'
    return done.stdout


def installed(name):
    """The one installed file of this name."""
    found = [p for p in MOVED.rglob(name) if not p.is_dir()]
    assert len(found) == 1, f'{name}: {found}'
    return found[0]


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f'there is no {tool}')


def pkg_config(*arguments):
    needs('pkg-config')
    env = clean(PKG_CONFIG_PATH=str(installed('hotlap.pc').parent),
                PKG_CONFIG_SYSROOT_DIR=str(MOVED))
    return run('pkg-config', *arguments, 'hotlap', env=env).strip()


@case
def the_tree_is_complete_and_may_be_moved():
    needs('meson')
    run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', STAGE)
    STAGE.rename(MOVED)
    for name in ('hotlap-engine-native.so', 'hotlap-engine-onnxruntime.so',
                 'hotlap-engine-openvino.so', 'engine.h', 'hotlap.h', 'libhotlap.so', 'hotlap.pc', 'LICENSE', 'README.md',
                 'skeleton.c', 'options.md'):
        assert any(MOVED.rglob(name)), f'{name} is not installed'
    for kind, found in (('man', (SOURCE / 'man').glob('*.1')), ('docs', (SOURCE / 'docs').rglob('*.*'))):
        for path in found:
            if path.name != 'meson.build':
                assert any(MOVED.rglob(path.name)), f'{kind}: {path.name} is not installed'
    for name in ('bash-completion/completions/hotlap', 'zsh/site-functions/_hotlap', 'fish/vendor_completions.d/hotlap.fish',
                 'man/man1/hotlap-sweep.1', 'doc/hotlap/docs/images/history.png', 'doc/hotlap/docs/examples/ci/gate.sh'):
        found = [p for p in MOVED.rglob(pathlib.PurePath(name).name) if str(p).endswith('share/' + name)]
        assert found, f'{name} is not installed'
    assert os.access(installed('gate.sh'), os.X_OK)
    assert os.access(program(), os.X_OK)
    assert pathlib.Path(SOURCE / 'LICENSE').read_text() in [
        p.read_text() for p in MOVED.rglob('LICENSE')]


def program():
    found = [p for p in MOVED.rglob('hotlap') if p.is_file() and p.parent.name == 'bin']
    assert len(found) == 1, f'hotlap: {found}'
    return found[0]


@case
def no_file_names_the_source_or_the_build():
    for binary in (program(), installed('hotlap-engine-native.so')):
        needs('readelf')
        paths = re.findall(r'(?:RPATH|RUNPATH).*\[(.*)\]', run('readelf', '-d', binary))
        for path in paths:
            assert str(SOURCE) not in path and str(BUILD) not in path, f'{binary}: {path}'


@case
def a_sweep_opens_nothing_outside_the_installed_tree():
    trace = HOME / 'libraries'
    env = clean(LD_DEBUG='libs', LD_DEBUG_OUTPUT=str(trace))
    out = run(program(), 'sweep', 'mlp:dims=64-64', '--batch-sizes', '1,2', '--max-time', '0.5',
              '--store', 'none', env=env)
    assert '2 passed' in out, out
    opened = ''.join(p.read_text(errors='replace') for p in HOME.glob('libraries.*'))
    paths = set(re.findall(r'calling init: (\S+)', opened))
    assert any(p.endswith('hotlap-engine-native.so') for p in paths), 'the trace is empty'
    for path in paths:
        path = os.path.realpath(path)
        inside = path.startswith(os.path.realpath(MOVED))
        assert inside or not path.startswith((str(SOURCE) + '/', str(BUILD) + '/')), path
        assert inside or 'dnnl' not in path or path.startswith(('/usr', '/lib')), path


@case
def pkg_config_tells_where_things_are():
    assert pkg_config('--modversion') in run(program(), '--version')
    header = installed('engine.h').read_text()
    assert pkg_config('--variable=engine_abi') == re.search(r'HL_ENGINE_ABI (\d+)u', header)[1]
    directory = pkg_config('--variable=enginedir')
    assert str(installed('hotlap-engine-native.so').parent).endswith(directory), directory


@case
def the_skeleton_compiles_against_the_installed_header_and_runs():
    compiler = os.environ.get('CC', 'cc').split()
    needs(compiler[0])
    plugin = HOME / 'skeleton.so'
    flags = pkg_config('--cflags').split()
    assert flags, 'no include directory'
    run(*compiler, '-std=c17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', *flags,
        installed('skeleton.c'), '-o', plugin)
    assert 'usable  skeleton 1' in run(program(), 'engines', '--plugin', plugin)
    out = run(program(), 'sweep', 'mlp', '--plugin', plugin, '--engine', 'skeleton', '--batch-sizes',
              '1,2', '--max-time', '0.5', '--json', '--store', 'none')
    assert '"not checked: the engine gives no outputs"' in out, out


@case
def a_program_links_the_installed_library():
    compiler = os.environ.get('CC', 'cc').split()
    needs(compiler[0], 'readelf')
    library = next(MOVED.rglob('libhotlap.so')).resolve()
    if '__asan_init' in run('readelf', '-W', '--dyn-syms', library):
        raise Skip('a sanitized library wants a sanitized program')
    source = HOME / 'serve.c'
    source.write_text('#include <hotlap/hotlap.h>\n#include <stdio.h>\n'
                      'int main(void) {\n  hl_monitor *monitor;\n  hl_error error = {0};\n'
                      '  hl_monitor_config config = HL_MONITOR_CONFIG;\n  config.path = "serve.jsonl";\n'
                      '  if (hl_monitor_new(&config, &monitor, &error)) return puts(error.msg), 1;\n'
                      '  hl_monitor_log_inference(monitor, 32, 0.0125, 812.5);\n'
                      '  hl_monitor_free(monitor);\n  return puts(hl_version()) < 0;\n}\n')
    libraries = pkg_config('--libs').split()
    assert '-lhotlap' in libraries, libraries
    run(*compiler, '-std=c17', '-Wall', '-Wextra', '-Werror', *pkg_config('--cflags').split(), source,
        '-o', HOME / 'serve', *libraries, f'-Wl,-rpath,{library.parent}')
    assert run(HOME / 'serve').strip() in run(program(), '--version')
    assert '"batch_size":32,"elapsed_time":0.0125,' in (HOME / 'serve.jsonl').read_text()


main()
