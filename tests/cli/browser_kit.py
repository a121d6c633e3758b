"""Headless Chromium for tests, by the DevTools protocol over two pipes: no port, no package.

    browser = Browser()                       # Skip where there is no Chromium
    page = browser.open('file:///tmp/report.html')
    page.click('#rows-table th button')
    assert page.value('document.title') == 'mlp - hotlap'
    assert page.requests == [] and page.complaints == []
    browser.close()

A page's `requests` are the addresses that it asked for after its own, `complaints` what it wrote to the
console, exceptions and what its policy forbade. Nothing waits for a time: each command has an answer, and
`until` asks a page that draws.
"""
import atexit
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import Skip

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
DEADLINE = 120  # seconds that an answer may take on a busy machine
FLAGS = ('--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
         '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
         '--disable-extensions', '--mute-audio', '--hide-scrollbars', '--window-size=1280,900')
# Becomes the browser, with the two pipes where it looks for them.
STARTER = '''
import fcntl, os, sys
high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
for place, fd in enumerate(high, 3):
    os.dup2(fd, place)
os.execv(sys.argv[3], sys.argv[3:])
'''


def program():
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    raise Skip('no Chromium: tools/install-dependencies --browser')


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.requests, self.complaints, self.loaded = [], [], False
        self.downloads = {}
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.command(f'{domain}.enable')

    def command(self, method, **parameters):
        return self.browser.command(method, self.session, **parameters)

    def event(self, method, what):
        if method == 'Page.loadEventFired':
            self.loaded = True
        elif method == 'Network.requestWillBeSent':
            if what['type'] != 'Document' and not what['request']['url'].startswith(('data:', 'blob:')):
                self.requests.append(what['request']['url'])
        elif method == 'Runtime.consoleAPICalled':
            self.complaints.append(f"{what['type']}: {[a.get('value') for a in what['args']]}")
        elif method == 'Runtime.exceptionThrown':
            self.complaints.append(json.dumps(what['exceptionDetails']))
        elif method == 'Log.entryAdded':
            self.complaints.append(what['entry']['text'])

    def go(self, address):
        self.loaded = False
        answer = self.command('Page.navigate', url=address)
        assert 'errorText' not in answer, answer
        self.browser.serve(lambda: self.loaded)
        return self

    def value(self, expression):
        """Of JavaScript, as JSON has it; a promise is awaited."""
        answer = self.command('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in answer, (expression, answer['exceptionDetails'])
        return answer['result'].get('value')

    def until(self, expression):
        end = time.monotonic() + DEADLINE
        while not self.value(expression):
            assert time.monotonic() < end, f'never: {expression}'

    def texts(self, selector):
        return self.value(f'[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText.trim())')

    def click(self, selector, count=1):
        """With the pointer, in the middle of the element, which has to be what lies there."""
        x, y = self.value(f'''(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = e.getBoundingClientRect();
            const at = [r.x + r.width / 2, r.y + r.height / 2], top = document.elementFromPoint(...at);
            if (!e.contains(top)) throw new Error(`covered by ${{top?.outerHTML}}`); return at; }})()''')
        for kind in ('mousePressed', 'mouseReleased'):
            self.command('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=count)

    def press(self, key):
        """A key of the keyboard, to what has the focus: 'Enter', 'Tab', ' ', 'ArrowRight'."""
        codes = {'Enter': 13, 'Tab': 9, ' ': 32, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40}
        text = {'Enter': '\r', ' ': ' '}.get(key)
        more = {'text': text} if text else {}
        self.command('Input.dispatchKeyEvent', type='keyDown', key=key, windowsVirtualKeyCode=codes[key], **more)
        self.command('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=codes[key])

    def write(self, text):
        self.command('Input.insertText', text=text)

    def media(self, media='', **features):
        self.command('Emulation.setEmulatedMedia', media=media,
                     features=[{'name': k.replace('_', '-'), 'value': v} for k, v in features.items()])

    def size(self, width, height):
        self.command('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def pdf(self):
        return base64.b64decode(self.command('Page.printToPDF', printBackground=True)['data'])

    def picture(self, whole=True):
        return base64.b64decode(self.command('Page.captureScreenshot', captureBeyondViewport=whole)['data'])


class Browser:
    def __init__(self):
        path = program()
        self.profile = tempfile.mkdtemp(prefix='hotlap-browser-')
        # The browser reads commands from descriptor 3 and answers on 4, each ended by a NUL.
        read, self.write_to = os.pipe()
        self.read_from, write = os.pipe()
        command = [sys.executable, '-c', STARTER, str(read), str(write), path, *FLAGS,
                   f'--user-data-dir={self.profile}', 'about:blank']
        env = dict(os.environ, HOME=self.profile)
        self.process = subprocess.Popen(command, pass_fds=(read, write), env=env, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        atexit.register(self.close)
        self.buffer, self.answers, self.pages, self.last = b'', {}, {}, 0

    def serve(self, done):
        """Takes what the browser says until `done()`."""
        end = time.monotonic() + DEADLINE
        while not done():
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.read_from], [], [], left)[0]
            assert ready, 'the browser says nothing'
            data = os.read(self.read_from, 1 << 20)
            assert data, 'the browser is gone'
            self.buffer += data
            *messages, self.buffer = self.buffer.split(b'\0')
            for message in map(json.loads, messages):
                if 'id' in message:
                    self.answers[message['id']] = message
                elif message.get('sessionId') in self.pages:
                    self.pages[message['sessionId']].event(message['method'], message['params'])

    def command(self, method, session=None, **parameters):
        self.last += 1
        number = self.last
        message = {'id': number, 'method': method, 'params': parameters}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.write_to, data):]
        self.serve(lambda: number in self.answers)
        answer = self.answers.pop(number)
        assert 'error' not in answer, (method, answer['error'])
        return answer['result']

    def open(self, address=None):
        target = self.command('Target.createTarget', url='about:blank')['targetId']
        session = self.command('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page.__new__(Page)
        self.pages[session] = page
        page.__init__(self, session)
        return page.go(address) if address else page

    def downloads(self, place):
        """Files that pages offer go there."""
        pathlib.Path(place).mkdir(exist_ok=True)
        self.command('Browser.setDownloadBehavior', behavior='allow', downloadPath=str(place))

    def close(self):
        atexit.unregister(self.close)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read_from)
        os.close(self.write_to)
        shutil.rmtree(self.profile, ignore_errors=True)
