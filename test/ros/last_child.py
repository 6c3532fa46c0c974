"""A process that leaves another one behind, which holds its output and stands still."""

import os
import signal
import subprocess
import sys

if __name__ == '__main__':
    sleep = [sys.executable, '-c', 'import time; time.sleep(600)']
    child = subprocess.Popen(sleep, start_new_session=True)
    os.kill(child.pid, signal.SIGSTOP)
    sys.stdout.write(f'left: {child.pid}.\n')
    sys.stdout.flush()
    signal.pause()
