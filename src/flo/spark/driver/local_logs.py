"""Spark's own logs of a query on a local disk, without a process for each file.

    spark/offsets/7        what the micro-batch reads      with its checksum: two processes `chmod` of Hadoop
    spark/commits/7        that it is done                 two
    spark/sources/0/7      the files of a source           two for each source

Without its native library, Hadoop sets the permissions of a file with `chmod`, which takes some milliseconds. Java does
it itself in less than a tenth of one. The class below does that, and nothing else in another way: the files, their
checksums and their permissions are those of Spark's `FileSystemBasedCheckpointFileManager`.
"""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from flo.sql.java import has_class

SETTING = "spark.sql.streaming.checkpointFileManagerClass"
CLASS = "flo.spark.LocalLogs"
SPARKS_OWN = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
"""Spark's default starts ten processes, `chmod` and `readlink`, for each file."""
SOURCE = f"""
package flo.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalLogs extends {SPARKS_OWN} {{
    public LocalLogs(Path path, Configuration settings) {{ super(path, onDisk(settings)); }}

    private static Configuration onDisk(Configuration settings) {{
        Configuration own = new Configuration(settings);
        own.setClassLoader(LocalLogs.class.getClassLoader());
        own.set("fs.file.impl", "flo.spark.LocalLogs$Summed");
        own.set("fs.file.impl.disable.cache", "true");
        return own;
    }}

    public static class Summed extends LocalFileSystem {{
        public Summed() {{ super(new Disk()); }}
    }}

    public static class Disk extends RawLocalFileSystem {{
        public void setPermission(Path path, FsPermission given) throws IOException {{
            if (given.getStickyBit()) {{
                super.setPermission(path, given);
                return;
            }}
            String text = given.getUserAction().SYMBOL + given.getGroupAction().SYMBOL + given.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(text));
        }}
    }}
}}
"""


def local_log_settings(spark: SparkSession) -> dict[str, str | None]:
    """Settings for a query whose logs are on a local disk."""
    return {SETTING: CLASS if os.name == "posix" and has_class(spark, CLASS, SOURCE) else SPARKS_OWN}
