"""A task of a small micro-batch in the thread of its query, without a job of Spark.

    as a rule    plan ─> closures checked and pickled ─> two schedulers ─> thread of a task: unpickles, computes rows
    here         plan ─> the thread that waits for the job anyway: computes rows

With a local master, a task runs in the JVM of the driver. What surrounds it takes longer than a few rows. The rows, the
process of Python, its messages and its errors are the same in both ways, as the same RDD is computed.

Only rows that Catalyst reads from files, selects and filters are computed so. It needs no other tasks for them, and
counts them in objects of the driver. Other plans run as jobs.
"""

from __future__ import annotations

import struct

from pyspark.sql import SparkSession

from flo.shards.plan.rewrites import rewrites
from flo.spark.driver.added_classes import has_class
from flo.sql.java import Java, java_package

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
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.storage.BlockManager;
import scala.collection.Iterator;

public class TaskInDriver {
    private static final Set KNOWN = new HashSet(Arrays.asList(new Object[] {
        "WholeStageCodegenExec", "InputAdapter", "ProjectExec", "FilterExec", "UnionExec", "CollectMetricsExec",
        "ColumnarToRowExec", "FileSourceScanExec"}));
    private static final AtomicLong LAST = new AtomicLong(-1000000L);  // Spark's numbers of tasks are positive

    public static byte[] collect(SparkContext spark, SparkPlan plan, int column) throws Throwable {
        String number = spark.getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
        QueryExecution around = number == null ? null : SQLExecution.getQueryExecution(Long.parseLong(number));
        return around == null || !isKnown(around.executedPlan()) ? null : compute(spark, plan.execute(), column);
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

    private static byte[] compute(SparkContext spark, RDD rows, int column) throws Throwable {
        SparkEnv env = SparkEnv.get();
        BlockManager blocks = env.blockManager();
        long number = LAST.decrementAndGet();
        TaskMemoryManager memory = new TaskMemoryManager(env.memoryManager(), number);
        Task task = new Task(number, memory, (Properties) spark.getLocalProperties().clone(), env.metricsSystem());
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


def tasks_in_driver(spark: SparkSession) -> Java | None:
    """The class that runs tasks in the driver; None if executors are processes of their own."""
    master = str(spark.sparkContext.master)
    if not rewrites.tasks_in_driver or master.partition("[")[0] != "local":
        return None
    return getattr(java_package(PACKAGE), NAME) if has_class(spark, f"{PACKAGE}.{NAME}", SOURCE) else None


def collect_in_driver(tasks: Java, spark: SparkSession, plan: Java, column: int) -> list[bytes] | None:
    """A column of bytes of the rows of a plan with one partition, as one task computes them. None if the rows of the
    micro-batch do not only come from files."""
    data = tasks.collect(spark.sparkContext._jsc.sc(), plan, column)
    if data is None:
        return None
    values, place = [], 0
    while place < len(data):
        (size,) = struct.unpack_from(">i", data, place)
        values.append(bytes(data[place + 4 : place + 4 + size]))
        place += 4 + size
    return values
