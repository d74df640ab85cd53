"""Python runs this when it starts: processes of Spark import PySpark from where it is installed.

Spark puts its archive of PySpark first in their path. Modules of an archive have no byte code, so each process would
compile them anew, and the archive is listed again before each task.
"""

from __future__ import annotations

import os
import sys

if any(os.path.isdir(os.path.join(place, "pyspark")) for place in sys.path):
    sys.path[:] = [place for place in sys.path if os.path.basename(place) != "pyspark.zip"]
