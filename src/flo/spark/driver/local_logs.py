"""Spark's own logs of a query on a local disk, without a process for each file.

    spark/offsets/7        what the micro-batch reads      with its checksum: two processes `chmod` of Hadoop
    spark/commits/7        that it is done                 two
    spark/sources/0/7      the files of a source           two for each source

Without its native library, Hadoop sets the permissions of a file with `chmod`, which takes some milliseconds. Java does
it itself in less than a tenth of one. The class below does that, and it asks the disk only about files that a caller of
`list` wants: the files, their checksums and their permissions are those of Spark's
`FileSystemBasedCheckpointFileManager`.

A source lists its log in each micro-batch, from its 110th on, for files to remove, and keeps those for ten minutes that
an object store may still show to others. On a disk, where a file that is there is seen, it need not keep them.
"""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from flo.sql.java import has_class

SETTING = "spark.sql.streaming.checkpointFileManagerClass"
DELAY = "spark.sql.streaming.fileSource.log.cleanupDelay"
"""How old a file in the log of a source must be before Spark removes it, if newer ones stand for it."""
CLASS = "flo.spark.LocalLogs"
SPARKS_OWN = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
"""Spark's default starts ten processes, `chmod` and `readlink`, for each file."""
SOURCE = f"""
package flo.spark;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

public class LocalLogs extends {SPARKS_OWN} {{
    private final FileSystem files;

    public LocalLogs(Path path, Configuration settings) throws IOException {{ this(path, onDisk(settings), true); }}

    private LocalLogs(Path path, Configuration own, boolean isOwn) throws IOException {{
        super(path, own);
        files = path.getFileSystem(own);
    }}

    public FileStatus[] list(Path folder, PathFilter filter) throws IOException {{
        String[] names = new File(folder.toUri().getPath()).list();
        if (names == null) {{
            throw new FileNotFoundException("File " + folder + " does not exist");
        }}
        List found = new ArrayList();
        for (int i = 0; i < names.length; i++) {{
            Path path = new Path(folder, names[i]);
            if (!names[i].endsWith(".crc") && filter.accept(path)) {{
                found.add(files.getFileStatus(path));
            }}
        }}
        return (FileStatus[]) found.toArray(new FileStatus[0]);
    }}

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
    manager = CLASS if os.name == "posix" and has_class(spark, CLASS, SOURCE) else SPARKS_OWN
    return {SETTING: manager, DELAY: "0"}
