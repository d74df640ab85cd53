"""A task of a small micro-batch in the thread of its query, without a job of Spark.

    as a rule    plan ─> closures checked and pickled ─> two schedulers ─> thread of a task: unpickles, computes rows
    here         plan ─> the thread that waits for the job anyway: computes rows

With a local master, a task runs in the JVM of the driver, and once. What surrounds it takes longer than a few rows. The
rows, the process of Python, its messages and its errors are the same in both ways, as the same RDD is computed.

Only rows that Catalyst reads from files, selects and filters are computed so. It needs no other tasks for them, and
counts them in objects of the driver. Other plans run as jobs.
"""

from __future__ import annotations

import re
import struct

from pyspark.sql import DataFrame, SparkSession

from flo.shards.plan.rewrites import rewrites
from flo.sql.java import Java, has_class, java_package

LOCAL = re.compile(r"local(\[[^,]*\])?")
PACKAGE, NAME = "flo.spark", "TaskInDriver"
SOURCE = """
package flo.spark;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.metrics.MetricsSystem;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.python.MapInArrowExec;
import org.apache.spark.storage.BlockManager;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

public class TaskInDriver {
    private static final Set KNOWN = new HashSet(Arrays.asList(new Object[] {
        "WholeStageCodegenExec", "InputAdapter", "ProjectExec", "FilterExec", "UnionExec", "CollectMetricsExec",
        "ColumnarToRowExec", "FileSourceScanExec"}));
    private static final AtomicLong LAST = new AtomicLong(-1000000L);  // Spark's numbers of tasks are positive

    private final SparkContext spark;
    private final MapInArrowExec task;
    private final Seq columns;
    private final int column;

    public TaskInDriver(SparkContext spark, MapInArrowExec task, Seq columns, int column) {
        this.spark = spark;
        this.task = task;
        this.columns = columns;
        this.column = column;
    }

    public byte[] collect(Dataset given, int most, String property, String value) throws Throwable {
        LogicalPlan plan = given.logicalPlan();
        String number = spark.getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
        QueryExecution around = number == null ? null : SQLExecution.getQueryExecution(Long.parseLong(number));
        if (!(plan instanceof LogicalRDD) || around == null || !isKnown(around.executedPlan())) {
            return null;
        }
        RDD rows = ((LogicalRDD) plan).rdd();
        if (rows.getNumPartitions() > most) {
            return null;
        }
        SparkPlan scan = new RDDScanExec(columns, rows, "micro-batch", RDDScanExec.apply$default$4(),
            RDDScanExec.apply$default$5(), RDDScanExec.apply$default$6());
        Properties properties = (Properties) spark.getLocalProperties().clone();
        properties.setProperty(property, value);
        SparkPlan whole = task.withNewChildInternal(new CoalesceExec(1, scan));
        return compute(whole.execute(), properties, column);
    }

    private static boolean isKnown(SparkPlan plan) {
        boolean known = KNOWN.contains(plan.getClass().getSimpleName());
        for (Iterator children = plan.children().iterator(); known && children.hasNext();) {
            known = isKnown((SparkPlan) children.next());
        }
        return known;
    }

    /** Spark stops the Python of a task that is interrupted. Here that is the thread of the query. */
    private static class Task extends TaskContextImpl {
        private final Thread thread = Thread.currentThread();

        Task(long number, TaskMemoryManager memory, Properties properties, MetricsSystem metrics) {
            super(0, 0, 0, number, 0, 1, memory, properties, metrics, new TaskMetrics(), 1,
                scala.collection.immutable.Map$.MODULE$.empty());
        }

        public boolean isInterrupted() { return super.isInterrupted() || thread.isInterrupted(); }
    }

    private static byte[] compute(RDD rows, Properties properties, int column) throws Throwable {
        SparkEnv env = SparkEnv.get();
        BlockManager blocks = env.blockManager();
        long number = LAST.decrementAndGet();
        TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), number);
        Task task = new Task(number, memory, properties, env.metricsSystem());
        Throwable failure = null;
        blocks.registerTask(number);
        TaskContext$.MODULE$.setTaskContext(task);
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            for (Iterator found = rows.iterator(rows.partitions()[0], task); found.hasNext();) {
                byte[] value = ((InternalRow) found.next()).getBinary(column);
                out.writeInt(value.length);
                out.write(value, 0, value.length);
            }
            return bytes.toByteArray();
        } catch (Throwable error) {
            failure = error;
            task.markInterrupted("the micro-batch has failed");
            task.markTaskFailed(error);
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedException();  // the query was stopped, and this is what came of it
            }
            throw error;
        } finally {
            try {
                task.markTaskCompleted(scala.Option.apply(failure));
            } finally {
                TaskContext$.MODULE$.unset();
                blocks.releaseAllLocksForTask(number);
                memory.cleanUpAllAllocatedMemory();
            }
        }
    }
}
"""


def task_in_driver(spark: SparkSession, task: Java, columns: Java, column: int) -> Java | None:
    """A task, planned for rows with these columns, which gives a column of bytes, as one that runs in the driver. None
    if executors are processes of their own, or if Spark shall run tasks again that fail, as with `local[2, 4]`."""
    is_local = LOCAL.fullmatch(str(spark.sparkContext.master))
    if not (rewrites.tasks_in_driver and is_local and has_class(spark, f"{PACKAGE}.{NAME}", SOURCE)):
        return None
    return getattr(java_package(PACKAGE), NAME)(spark.sparkContext._jsc.sc(), task, columns, column)


def collect_in_driver(task: Java, rows: DataFrame, most: int, properties: tuple[str, str]) -> list[bytes] | None:
    """What a task gives for the rows of a micro-batch, with a property of the job that it is not. None if not all rows
    come from files, or if they have more than `most` partitions."""
    data = task.collect(rows._jdf, most, *properties)
    if data is None:
        return None
    values, place = [], 0
    while place < len(data):
        (size,) = struct.unpack_from(">i", data, place)
        values.append(bytes(data[place + 4 : place + 4 + size]))
        place += 4 + size
    return values
