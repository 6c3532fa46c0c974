"""Run a node, then print the threads and the handles of rclpy that are left in the process."""

import gc
import importlib
import json
from pathlib import Path
import sys


def main():
    sys.argv = sys.argv[1:]
    status = importlib.import_module(sys.argv[0]).main()
    from rclpy.impl.implementation_singleton import rclpy_implementation as rclpy

    gc.unfreeze()  # else those that a loop froze are not among the objects
    reachable = {id(r): r for o in gc.get_objects() for r in gc.get_referents(o)}
    handles = []
    for handle in reachable.values():
        if isinstance(handle, rclpy.Destroyable):
            try:
                with handle:
                    handles.append(type(handle).__name__)
            except rclpy.InvalidHandle:
                pass
    threads = [path.read_text().strip() for path in Path('/proc/self/task').glob('*/comm')]
    sys.stdout.write(json.dumps({'threads': threads, 'handles': handles}) + '\n')
    return status


if __name__ == '__main__':
    sys.exit(main())
