"""Streaming files whose micro-batches share what does not change between them.

    Spark, for each source and micro-batch    here
    five copies of Hadoop's settings          two
    look for the class of the format          once
    find the jar of a class in all jars       once
    send Hadoop's settings to executors       once, and again if they have changed

The source is Spark's own, with its own logs and offsets. From its second micro-batch on it makes the relation of the
micro-batch from that of the one before: only the files are others. For files of which one is gone, on other file
systems or in folders that name columns, Spark makes the relation, as before.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from flo.shards.plan.rewrites import rewrites
from flo.spark.driver.tasks_in_driver import LOCAL
from flo.sql.java import has_class, java_package

PACKAGE, NAME = "flo.spark", "LastingFiles"
SOURCE = """
package flo.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.reflect.FieldUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionDirectory$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSource$FileEntry;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog;
import org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceOffset$;
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

public class LastingFiles extends FileStreamSource {
    private final org.apache.spark.sql.classic.SparkSession session;
    private final FileSystem files;
    private final FileStreamSourceLog log;
    private HadoopFsRelation last;  // of the micro-batch before, without its files

    LastingFiles(org.apache.spark.sql.classic.SparkSession session, String path, String format, StructType schema,
            Seq partitions, String logs, scala.collection.immutable.Map options) throws Exception {
        super(session, path, format, schema, partitions, logs, options);
        this.session = session;
        files = new Path(path).getFileSystem(session.sessionState().newHadoopConf());
        log = (FileStreamSourceLog) FieldUtils.readField(this, "metadataLog", true);
    }

    public Dataset getBatch(Option start, Offset end) {
        List found = last == null ? null : find(start, end);
        if (found == null) {
            Dataset whole = super.getBatch(start, end);
            HadoopFsRelation made = (HadoopFsRelation) ((LogicalRelation) whole.logicalPlan()).relation();
            if (files instanceof LocalFileSystem && made.partitionSchema().isEmpty()) {
                boolean isParquet = made.fileFormat().getClass() == ParquetFileFormat.class;
                last = with(made, new ArrayList(), isParquet ? new LastingParquet() : made.fileFormat());
            }
            return whole;
        }
        HadoopFsRelation relation = with(last, found, last.fileFormat());
        return Dataset$.MODULE$.ofRows(session, LogicalRelation$.MODULE$.apply(relation, true));
    }

    private static HadoopFsRelation with(HadoopFsRelation like, List found, FileFormat format) {
        return like.copy(new Files(found), like.partitionSchema(), like.dataSchema(), like.bucketSpec(), format,
            like.options(), like.sparkSession());
    }

    /** The files of a micro-batch; null if one is gone. */
    private List find(Option start, Offset end) {
        FileStreamSourceOffset$ of = FileStreamSourceOffset$.MODULE$;
        long first = start.isEmpty() ? 0 : of.apply((Offset) start.get()).logOffset() + 1;
        Tuple2[] entries = log.get(new Some(first), new Some(of.apply(end).logOffset()));
        List found = new ArrayList();
        try {
            for (int i = 0; i < entries.length; i++) {
                FileStreamSource$FileEntry[] own = (FileStreamSource$FileEntry[]) entries[i]._2();
                for (int j = 0; j < own.length; j++) {
                    found.add(files.getFileStatus(own[j].sparkPath().toPath()));
                }
            }
        } catch (IOException error) {
            return null;
        }
        return found;
    }

    private static class Files implements FileIndex {
        private final List found;

        Files(List found) { this.found = found; }

        public Seq rootPaths() {
            List paths = new ArrayList();
            for (Iterator each = found.iterator(); each.hasNext();) {
                paths.add(((FileStatus) each.next()).getPath());
            }
            return seq(paths);
        }

        public Seq listFiles(Seq partitions, Seq data) {
            List full = new ArrayList();
            for (Iterator each = found.iterator(); each.hasNext();) {
                FileStatus file = (FileStatus) each.next();
                if (file.getLen() > 0) {  // Spark skips empty ones
                    full.add(file);
                }
            }
            FileStatus[] every = (FileStatus[]) full.toArray(new FileStatus[0]);
            List one = new ArrayList();
            one.add(PartitionDirectory$.MODULE$.apply(InternalRow$.MODULE$.empty(), every));
            return seq(one);
        }

        public String[] inputFiles() {
            String[] urls = new String[found.size()];
            for (int i = 0; i < urls.length; i++) {
                urls[i] = org.apache.spark.paths.SparkPath.fromFileStatus((FileStatus) found.get(i)).urlEncoded();
            }
            return urls;
        }

        public long sizeInBytes() {
            long size = 0;
            for (Iterator each = found.iterator(); each.hasNext();) {
                size += ((FileStatus) each.next()).getLen();
            }
            return size;
        }

        public void refresh() {}
        public StructType partitionSchema() { return new StructType(); }
        public Option metadataOpsTimeNs() { return Option.empty(); }
    }

    /** Reads with the settings that executors have, while these are what they were. */
    private static class LastingParquet extends ParquetFileFormat {
        private transient List asked;
        private transient Function1 reader;

        public synchronized Function1 buildReaderWithPartitionValues(SparkSession session, StructType data,
                StructType partitions, StructType wanted, Seq filters, scala.collection.immutable.Map options,
                Configuration settings) {
            Map values = new HashMap();
            for (Iterator each = settings.iterator(); each.hasNext();) {
                Map.Entry setting = (Map.Entry) each.next();
                values.put(setting.getKey(), setting.getValue());
            }
            List asks = Arrays.asList(new Object[] {data, partitions, wanted, filters, options, values});
            if (!asks.equals(asked)) {
                reader = new ParquetFileFormat().buildReaderWithPartitionValues(
                    session, data, partitions, wanted, filters, options, settings);
                asked = asks;
            }
            return reader;
        }
    }

    /** What makes such a source in place of Spark's. */
    private static class Lasting extends DataSource {
        Lasting(DataSource like) {
            super(like.sparkSession(), like.className(), like.paths(), like.userSpecifiedSchema(),
                like.partitionColumns(), like.bucketSpec(), like.options(), like.catalogTable());
        }

        // Spark does not replace a part of a plan by an equal one
        public boolean canEqual(Object other) { return other instanceof Lasting; }
        public boolean equals(Object other) { return other instanceof Lasting && super.equals(other); }
        public int hashCode() { return super.hashCode(); }

        public Source createSource(String logs) {
            try {
                scala.collection.immutable.Map options = CaseInsensitiveMap$.MODULE$.apply(options());
                return new LastingFiles((org.apache.spark.sql.classic.SparkSession) sparkSession(),
                    (String) options.apply("path"), className(), sourceInfo().schema(),
                    sourceInfo().partitionColumns(), logs, options);
            } catch (Exception error) {  // another Spark, or what Spark says of it
                return super.createSource(logs);
            }
        }
    }

    public static Dataset over(Dataset frame) {
        return Dataset$.MODULE$.ofRows(frame.sparkSession(), over(frame.logicalPlan()));
    }

    private static LogicalPlan over(LogicalPlan plan) {
        if (plan instanceof StreamingRelation) {
            StreamingRelation files = (StreamingRelation) plan;
            boolean areFiles = FileFormat.class.isAssignableFrom(files.dataSource().providingClass());
            return areFiles ? files.copy(new Lasting(files.dataSource()), files.sourceName(), files.output()) : files;
        }
        List children = new ArrayList();
        for (scala.collection.Iterator each = plan.children().iterator(); each.hasNext();) {
            children.add(over((LogicalPlan) each.next()));
        }
        return (LogicalPlan) plan.withNewChildren(seq(children));
    }

    private static Seq seq(List items) { return CollectionConverters.asScala(items).toSeq(); }
}
"""


def with_lasting_files(rows: DataFrame) -> DataFrame:
    """The same streaming rows, of which those of files come from such sources, if executors are in the driver."""
    spark = rows.sparkSession
    is_local = LOCAL.fullmatch(str(spark.sparkContext.master))
    if not (rewrites.lasting_files and is_local and has_class(spark, f"{PACKAGE}.{NAME}", SOURCE)):
        return rows
    return DataFrame(getattr(java_package(PACKAGE), NAME).over(rows._jdf), spark)
