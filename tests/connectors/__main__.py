"""A broker of Kafka and a server of PostgreSQL on loopback, for the tutorials: `make services`.

They run until Ctrl-C. A file has the variables that the tutorials read, and the jars that Spark needs:

    . build/services.env && python orders.py
"""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from tests.connectors import services

PARTITIONS = 2
"""Of every topic that the broker makes, which it does with the first message."""


def main() -> None:
    file = Path(sys.argv[1])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print("starting a broker of Kafka and a server of PostgreSQL …", flush=True)
    with tempfile.TemporaryDirectory(prefix="flo-services-") as folder:
        try:
            jars, missing = services.fetch_packages()
            with services.kafka(Path(folder) / "broker", PARTITIONS) as servers, services.postgresql() as database:
                for name, why in missing.items():
                    print(f"without the package for {name}: {why}")
                variables = {
                    "KAFKA": servers,
                    "DATABASE": database,
                    "CHECKPOINT": f"{folder}/checkpoint",
                    "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(jars)} pyspark-shell",
                }
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("".join(f"export {name}='{value}'\n" for name, value in variables.items()))
                print(f"KAFKA={servers}  topics get {PARTITIONS} partitions\nDATABASE={database}")
                print(f"in another terminal: . {file}\nCtrl-C stops both, and removes all data", flush=True)
                with suppress(KeyboardInterrupt):
                    threading.Event().wait()
        except services.Unavailable as error:
            sys.exit(str(error))
        finally:
            file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
