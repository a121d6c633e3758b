"""What leads elsewhere, for tests: an sshd of one's own, and stand-ins for launchers.

    with Sshd() as box:
        sweep('mlp', *box.launcher())
"""
import getpass
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess

from harness import HOME, PROGRAM, Skip, environment


def program(name, text):
    """A shell script in HOME/bin, as a launcher by its path."""
    path = HOME / 'bin' / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('#!/bin/sh\n' + text)
    path.chmod(0o755)
    return path


def behind(launcher, *more):
    """Options for a launcher that leads, in truth, to this machine."""
    return ('--launcher', str(launcher), '--remote-program', PROGRAM, *more)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def workers(above):
    """Processes `hotlap worker` below the process `above`."""
    found, waiting = [], [above]
    while waiting:
        pid = waiting.pop()
        try:
            children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
            words = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
        except OSError:
            continue
        waiting += map(int, children)
        if b'worker' in words and b'hotlap' in os.path.basename(words[0]):
            found.append(pid)
    return found


class Sshd:
    """An SSH server on a high port of 127.0.0.1, with keys and settings of its own."""

    def __init__(self, address='127.0.0.1', prefix=(), settings=()):
        self.daemon, self.keygen = shutil.which('sshd', path='/usr/sbin:/usr/bin'), shutil.which('ssh-keygen')
        if not self.daemon or not self.keygen or not shutil.which('ssh'):
            raise Skip('no OpenSSH server here')
        self.address, self.prefix, self.settings = address, list(prefix), list(settings)
        self.place = HOME / f'ssh-{free_port()}'
        self.home = self.place / 'home'

    def key(self, name):
        path = self.place / name
        subprocess.run([self.keygen, '-q', '-t', 'ed25519', '-N', '', '-f', path], check=True)
        return path

    def __enter__(self):
        self.home.mkdir(parents=True)
        if os.getuid() == 0:
            pathlib.Path('/run/sshd').mkdir(exist_ok=True)  # sshd wants it, whatever it is told
        host, user = self.key('host'), self.key('user')
        self.port = free_port()
        shutil.copy(user.with_suffix('.pub'), self.place / 'authorized')
        inner = environment(HOME=str(self.home), XDG_CACHE_HOME=None, XDG_DATA_HOME=None)
        kept = ('HOME', 'HOTLAP_TEST_WITHOUT_LIMITS', 'ASAN_OPTIONS', 'VIRTUAL_ENV', 'LD_PRELOAD', 'VIRTUAL_CLOCK')
        variables = ' '.join(f'{k}={shlex.quote(inner[k])}' for k in kept if k in inner)
        lines = [f'Port {self.port}', f'ListenAddress {self.address}', f'HostKey {host}', 'StrictModes no',
                 f'AuthorizedKeysFile {self.place}/authorized', 'UsePAM no', 'PidFile none', 'PrintMotd no',
                 'PasswordAuthentication no', f'SetEnv {variables}', *self.settings]
        (self.place / 'sshd').write_text('\n'.join(lines) + '\n')
        key = host.with_suffix('.pub').read_text().split()
        self.known(f'[{self.address}]:{self.port} {key[0]} {key[1]}')
        self.client = ['ssh', '-F', 'none', '-p', str(self.port), '-i', str(user), '-o', 'BatchMode=yes',
                       '-o', f'UserKnownHostsFile={self.place}/known', '-o', 'IdentitiesOnly=yes',
                       '-l', getpass.getuser()]
        self.process = subprocess.Popen([*self.prefix, self.daemon, '-D', '-e', '-f', self.place / 'sshd'],
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in self.process.stderr:
            if 'Server listening' in line:
                return self
        raise Skip('sshd does not start here')

    def known(self, line):
        (self.place / 'known').write_text(line + '\n')

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.stderr.close()
        self.process.wait()

    def command(self, *more, address=None):
        return ' '.join([*self.client, *more, address or self.address])

    def launcher(self, *more):
        return behind(self.command(*more))
