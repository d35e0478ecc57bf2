using System;
using AceMQ;

/* The outbox: orders that exist exactly when a transaction commits, and a relay that publishes them.
 *
 *   outbox.exe [URL [STORE]]     without a URL: a broker inside this program
 *                                STORE: lmdb:PATH or postgresql://…; memory: when not given */
internal static class OrdersByOutbox {
  private const string Queue = "example.outbox";

  /* Here in a transaction of its own; OutboxStatementNew() gives the INSERT for yours. No broker is needed. */
  private static void WriteOrders(Outbox outbox) {
    for (var number = 1; number <= 3; number++) {
      using (var order = Mq.MessageJson("{\"id\":" + number + "}")) {
        Mq.MessageSetType(order, "order.placed");
        Mq.OutboxEnqueue(outbox, "", Queue, order, 5 * Mq.SECOND);
      }
    }
  }

  private static void RelayOrders(Connection mq, Outbox outbox) {
    using (var relay = Mq.RelayStart(mq, outbox)) {
      Mq.RelayDrain(relay, 10 * Mq.SECOND);
      Console.WriteLine("the relay published {0} orders", Mq.RelayCount(relay).Published);
      Mq.RelayStop(relay, 5 * Mq.SECOND);
    }
  }

  private static void Main(string[] arguments) {
    using (var outbox = Mq.OutboxOpen(arguments.Length > 1 ? arguments[1] : "memory:"))
    using (var mq = Mq.Connect(arguments.Length > 0 ? arguments[0] : "memory://example"))
    using (var topology = Mq.TopologyNew()) {
      Mq.TopologyQueue(topology, Queue, QueueType.QUEUE_QUORUM, 1);
      Mq.TopologyApply(mq, topology, 5 * Mq.SECOND).Dispose();
      WriteOrders(outbox);
      var pending = Mq.OutboxCount(outbox, 5 * Mq.SECOND).Pending;
      Console.WriteLine("{0} orders are written, and not published yet", pending);
      RelayOrders(mq, outbox);
      Mq.ConnectionClose(mq, 5 * Mq.SECOND);
    }
  }
}
