"""The command line: parse, call one library function, print. The only place that knows Rich."""

import os

# Most matrices here are small: threads of the linear algebra would wait for each other longer than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
