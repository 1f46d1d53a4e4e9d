"""Submissions that mean harm, each with a word that its report must have."""

DEF = "\ndef count_autoregressive(n):\n    "

# What is done when the file is run, and what is done when the function is called.
FILES = {
    "endless loop": "while True: pass",
    "endless sleep": "import time\nwhile True: time.sleep(60)",
    "endless in spite of errors": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "exit": "exit()",
    "os._exit": "import os; os._exit(0)",
    "sys.exit at the call": DEF + "import sys; sys.exit(3)",
    "os._exit at the call": DEF + "import os; os._exit(7)",
    "fork bomb": "import os\nwhile True: os.fork()",
    "thread bomb": "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()",
    "prints a gigabyte": "for _ in range(1024): print('x' * (1 << 20))",
    "writes a gigabyte to a descriptor": "import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))",
    "fills the memory": "x = []\nwhile True: x.append(bytearray(1 << 26))",
    "a huge tensor": "import torch\nx = torch.ones(1 << 36)",
    "fills the disk": "with open('big', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20))",
    "deletes files": "import shutil, os\nshutil.rmtree(OUTSIDE)\nos.remove(OUTSIDE + '/precious')",
    "overwrites a file": "open(OUTSIDE + '/precious', 'w').write('gone')",
    "makes a file": "open(OUTSIDE + '/new', 'w').write('x')",
    "renames a file": "import os\nos.rename(OUTSIDE + '/precious', OUTSIDE + '/other')",
    "changes rights": "import os\nos.chmod(OUTSIDE, 0)",
    "a link out": "import os\nos.symlink(OUTSIDE + '/precious', 'in')\nopen('in', 'a').write('x')",
    "runs a program": "import subprocess\nsubprocess.run(['touch', OUTSIDE + '/new'], check=True)",
    "os.system": "import os\nif os.system('touch ' + OUTSIDE + '/new') != 0: raise OSError('no shell')",
    "connects": "import socket\nsocket.create_connection(('127.0.0.1', PORT), timeout=1).sendall(b'hello')",
    "listens": "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()",
    "downloads": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:' + str(PORT))",
    "kills all": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "imports the answers": "from regard.course import AttentionHead\nfrom regard.grade.tasks.masks import count_autoregressive",
    "reads the answers": "import pathlib\ncount_autoregressive = None\nx = pathlib.Path(PACKAGE, 'grade/tasks/masks.py').read_text()",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "recursion without end": "def f(): return f()\nf()",
    "recursion in C": "import json\nx = []\nfor _ in range(200000): x = [x]\nrepr(x)",
    "sends nonsense to the judge": "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 999)\n    except OSError: pass",
    "lies to the judge": DEF
    + "import torch\n    class T(int):\n        def __eq__(self, other): return True\n    return T(5)",
    "hostile error": "class E(BaseException):\n    def __str__(self): raise SystemExit\nraise E",
    "hostile value": DEF
    + "class V:\n        def __getattribute__(self, name): raise KeyboardInterrupt\n    return V()",
    "debugs the judge": "import ctypes\nif ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0: raise OSError('no ptrace')",
    "patches torch": "import torch\ntorch.Tensor.__eq__ = lambda *a: True\ntorch.allclose = lambda *a, **k: True\n"
    + DEF
    + "return torch.tensor(0)",
}
