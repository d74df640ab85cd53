"""What connectors connect to: jars of Maven Central, a broker of Kafka, a server of PostgreSQL. All on loopback.

Ivy, which comes with PySpark, fetches the jars, and keeps them. What cannot be had raises `Unavailable`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flo-connectors"
PATIENCE = 180
"""How many seconds a service may take to start."""
BROKER = ("org.apache.kafka:kafka_2.13:4.1.2", "org.slf4j:slf4j-nop:1.7.36")
DELTA = tuple(
    f"io.delta:{name}:4.4.0"
    for name in (
        "delta-spark_4.1_2.13",
        "delta-storage",
        "delta-kernel-api",
        "delta-kernel-defaults",
        "delta-kernel-unitycatalog",
    )
)
KAFKA = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",  # that of 4.1.3 is not published
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
AVRO = ("org.apache.spark:spark-avro_2.13:4.1.1",)  # that of 4.1.3 is not published
ICEBERG = ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)
PACKAGES = {"kafka": KAFKA, "delta": DELTA, "iceberg": ICEBERG, "avro": AVRO}


class Unavailable(Exception):
    """A service or a package that this machine does not have and cannot get."""


def fetch_jars(coordinates: tuple[str, ...], transitive: bool = False) -> list[Path]:
    """The jars of these coordinates, from the cache or from Maven Central."""
    lines = []
    for each in coordinates:
        group, name, version = each.split(":")
        more = "" if transitive else ' transitive="false"'
        lines.append(f'<dependency org="{group}" name="{name}" rev="{version}" conf="*->default"{more}/>')
    text = f'<ivy-module version="2.0"><info organisation="flo" module="jars"/><dependencies>{"".join(lines)}'
    text += "</dependencies></ivy-module>"
    folder = CACHE / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not folder.exists():
        work = CACHE / f"_{uuid.uuid4().hex}"
        work.mkdir(parents=True)
        (work / "ivy.xml").write_text(text)
        ivy = ["java", "-cp", f"{Path(pyspark.__file__).parent / 'jars'}/*", "org.apache.ivy.Main"]
        ivy += ["-cache", str(CACHE / "ivy"), "-ivy", str(work / "ivy.xml"), "-types", "jar", "bundle"]
        ivy += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
        done = subprocess.run(ivy, capture_output=True, text=True)
        if done.returncode or not (work / "jars").exists():
            reason = (done.stdout + done.stderr).strip().splitlines()[-1:]
            raise Unavailable(f"Ivy cannot get {', '.join(coordinates)}: {' '.join(reason)}")
        (work / "jars").rename(folder)
        shutil.rmtree(work)
    return sorted(folder.glob("*.jar"))


def fetch_packages() -> tuple[list[str], dict[str, str]]:
    """The jars of all packages; and for each that this machine cannot get, the reason."""
    jars: list[str] = []
    missing: dict[str, str] = {}
    for name, coordinates in PACKAGES.items():
        try:
            jars += map(str, fetch_jars(coordinates))
        except Unavailable as error:
            missing[name] = str(error)
    return jars, missing


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as trial:
            trial.settimeout(1)
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise Unavailable(f"the broker of Kafka does not start: {log.read_text()[-300:]}")


@contextmanager
def kafka(folder: Path, partitions: int = 3) -> Iterator[str]:
    """A broker of Kafka, which is its own controller, and makes topics with so many partitions. Gives its address."""
    folder.mkdir(parents=True)
    jars, port, own = fetch_jars(BROKER, transitive=True), free_port(), free_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{own}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{own}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folder / "logs",
        "num.partitions": partitions,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
    }
    file, log = folder / "server.properties", folder / "log.txt"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars))]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    subprocess.run([*java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(file)], check=True)
    with log.open("wb") as out:
        process = subprocess.Popen([*java, "kafka.Kafka", str(file)], stdout=out, stderr=out)
    try:
        _wait_for(port, process, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextmanager
def postgresql() -> Iterator[str]:
    """A server of PostgreSQL. Gives the address of a database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")) or list(
        map(Path, filter(None, [shutil.which("pg_ctl")]))
    )
    if not found:
        raise Unavailable("PostgreSQL is not installed: pg_ctl was not found (Debian: apt install postgresql)")
    with tempfile.TemporaryDirectory(prefix="flo-postgresql-") as own:  # other users may enter the folder around it
        folder, user = Path(own), list[str]()
        if os.geteuid() == 0:  # the server refuses to run as root
            if shutil.which("runuser") is None:
                raise Unavailable("PostgreSQL does not run as root, and there is no runuser")
            shutil.chown(folder, "postgres")
            user = ["runuser", "-u", "postgres", "--"]
        binaries, data, port = found[-1].parent, folder / "data", free_port()
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": "/"}
        subprocess.run([*user, binaries / "initdb", "-D", data, "-A", "trust", "-U", "flo"], **quiet)  # type: ignore[call-overload]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        control = [*user, binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log.txt"]
        subprocess.run([*control, "-o", options, "start"], **quiet)  # type: ignore[call-overload]
        try:
            yield f"postgresql://flo@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)  # type: ignore[call-overload]
