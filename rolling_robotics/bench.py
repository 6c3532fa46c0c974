"""``python -m rolling_robotics.bench``: now ``python -m benchmarks`` in the source tree."""

import sys
import warnings

if __name__ == '__main__':
    text = 'rolling_robotics.bench is deprecated; run python -m benchmarks in the source tree'
    warnings.warn(text, DeprecationWarning, stacklevel=1)
    try:
        from benchmarks.__main__ import main
    except ImportError:
        sys.exit(text)
    sys.exit(main())
