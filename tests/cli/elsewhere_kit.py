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
import tempfile
import threading
import time

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

    def __init__(self, address='127.0.0.1', prefix=(), **variables):
        self.daemon, self.keygen = shutil.which('sshd', path='/usr/sbin:/usr/bin'), shutil.which('ssh-keygen')
        if not self.daemon or not self.keygen or not shutil.which('ssh'):
            raise Skip('no OpenSSH server here')
        self.address, self.prefix, self.variables = address, list(prefix), variables
        self.place = pathlib.Path(tempfile.mkdtemp(prefix='ssh-', dir=HOME))
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
        inner = environment(HOME=str(self.home), XDG_CACHE_HOME=None, XDG_DATA_HOME=None, **self.variables)
        kept = ('HOME', 'HOTLAP_TEST_WITHOUT_LIMITS', 'ASAN_OPTIONS', 'VIRTUAL_ENV', *self.variables)
        variables = ' '.join(f'{k}={shlex.quote(inner[k])}' for k in kept if k in inner)
        lines = [f'Port {self.port}', f'ListenAddress {self.address}', f'HostKey {host}', 'StrictModes no',
                 f'AuthorizedKeysFile {self.place}/authorized', 'UsePAM no', 'PidFile none', 'PrintMotd no',
                 'PasswordAuthentication no', f'SetEnv {variables}']
        (self.place / 'sshd').write_text('\n'.join(lines) + '\n')
        key = host.with_suffix('.pub').read_text().split()
        self.host_key = f'{key[0]} {key[1]}'
        self.known(f'[{self.address}]:{self.port} {self.host_key}')
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
        with open(self.place / 'known', 'a') as file:
            file.write(line + '\n')

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.stderr.close()
        self.process.wait()

    def command(self, *more):
        return ' '.join([*self.client, *more, self.address])

    def launcher(self, *more):
        return behind(self.command(*more))

    def workers(self):
        return workers(self.process.pid)


class Relay:
    """Stands between a client and an sshd: passes bytes on, late if so told, or no more, or cuts."""

    def __init__(self, box):
        self.box, self.delay_s, self.drops = box, 0, threading.Event()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        box.known(f'[127.0.0.1]:{self.port} {box.host_key}')
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection((self.box.address, self.box.port))
            except OSError:
                return
            self.sockets += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, from_, to):
        while True:
            try:
                data = from_.recv(65536)
                time.sleep(self.delay_s)  # what is tested is a connection that is slow
                if not self.drops.is_set():
                    to.sendall(data) if data else to.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not data:
                return

    def cut(self):
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def launcher(self, *more):
        # The last -p counts for nothing in ssh: the first does.
        return behind(' '.join(['ssh', '-p', str(self.port), *self.box.client[1:], *more, '127.0.0.1']))


class Namespace:
    """A network of its own behind a cable that can be pulled; root only."""

    def __init__(self):
        if os.getuid() != 0 or not shutil.which('ip'):
            raise Skip('network namespaces are made by root, with ip')
        self.name = f'hotlap{os.getpid()}'
        self.cable = f'hl{os.getpid()}'[:13]
        net = f'10.213.{os.getpid() % 256}'
        self.near, self.far = f'{net}.1', f'{net}.2'
        self.prefix = ['ip', 'netns', 'exec', self.name]

    def ip(self, words):
        done = subprocess.run(['ip', *words.split()], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip('no network namespaces here: ' + done.stderr.strip())

    def __enter__(self):
        self.ip(f'netns add {self.name}')
        try:
            self.ip(f'link add {self.cable}a type veth peer name {self.cable}b netns {self.name}')
            self.ip(f'addr add {self.near}/24 dev {self.cable}a')
            self.ip(f'link set {self.cable}a up')
            for words in (f'addr add {self.far}/24 dev {self.cable}b', f'link set {self.cable}b up', 'link set lo up'):
                self.ip(f'netns exec {self.name} ip {words}')
        except Skip:
            self.__exit__()
            raise
        return self

    def pull(self):
        self.ip(f'link set {self.cable}a down')

    def __exit__(self, *_):
        subprocess.run(['ip', 'link', 'del', f'{self.cable}a'], capture_output=True)
        subprocess.run(['ip', 'netns', 'del', self.name], capture_output=True)
