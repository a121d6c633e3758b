"""A dashboard for tests: started on a free port, asked over sockets of our own.

    with Dashboard('--store', store) as d:
        answer = d.get('/api/runs')          # status, headers, body
"""
import json
import re
import signal
import socket
import subprocess

import harness


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b'\r\n\r\n')
        lines = head.decode('latin-1').split('\r\n')
        self.raw = raw
        self.status = int(lines[0].split()[1]) if len(lines[0].split()) > 1 else 0
        self.headers = {k.lower(): v for k, v in (line.split(': ', 1) for line in lines[1:] if ': ' in line)}

    @property
    def text(self):
        return self.body.decode()

    @property
    def document(self):
        return json.loads(self.body)


class Dashboard:
    def __init__(self, *arguments, env=None):
        self.command = [harness.PROGRAM, 'report', '--serve', '--listen', '127.0.0.1:0', *map(str, arguments)]
        self.env = env or harness.environment()

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env,
                                        cwd=harness.HOME)
        line = self.process.stdout.readline().decode()
        found = re.search(r'http://(\S+):(\d+)/', line)
        if not found:
            self.process.wait(30)
            raise AssertionError(f'no address: {line!r} {self.process.stderr.read().decode()!r}')
        self.url = found[0]
        self.port = int(found[2])
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()

    def end(self):
        """An interrupt; what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=60)
        self.status = self.process.returncode
        self.err = err.decode()
        assert 'runtime error' not in self.err and 'Sanitizer' not in self.err, self.err
        return self.status

    def connect(self):
        return socket.create_connection(('127.0.0.1', self.port), timeout=60)

    def send(self, data):
        """What comes back until the end of the connection."""
        with self.connect() as s:
            s.sendall(data if isinstance(data, bytes) else data.encode())
            return Answer(read_all(s))

    def get(self, path, *headers, method='GET', host=None):
        lines = [f'{method} {path} HTTP/1.1', f'Host: {host or f"127.0.0.1:{self.port}"}', 'Connection: close',
                 *headers, '', '']
        return self.send('\r\n'.join(lines))

    def page(self, path, *headers, status=200):
        answer = self.get(path, *headers)
        assert answer.status == status, (path, answer.status, answer.body[:400])
        return answer


def read_all(s):
    parts = []
    try:
        while part := s.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b''.join(parts)


class Events:
    """The events of a stream, one after the other."""
    def __init__(self, dashboard, path):
        self.socket = dashboard.connect()
        self.socket.sendall(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        self.lines = self.decoded(self.socket.makefile('rb'))

    def decoded(self, stream):
        status = stream.readline()
        assert b' 200 ' in status, status
        while stream.readline().strip():
            pass
        rest = b''
        while size := int(stream.readline() or b'0', 16):  # chunks
            rest += stream.read(size)
            stream.readline()
            *lines, rest = rest.split(b'\n')
            yield from lines

    def next(self, wanted=None):
        """The next event, or the next of a name: (name, data)."""
        name = data = None
        for line in self.lines:
            if line.startswith(b'event: '):
                name = line[7:].decode()
            elif line.startswith(b'data: '):
                data = json.loads(line[6:])
            elif not line and name:
                if wanted in (None, name):
                    return name, data
                name = data = None
        return None, None

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # what reads lines holds it, too
        self.socket.close()
