using System;
using AceMQ;

/* Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is charged once.
 *
 *   idempotent_consumer.exe [URL [STORE]]     without a URL: a broker inside this program
 *                                             STORE of the claims: lmdb:PATH or postgresql://…; memory: when not given */
internal static class IdempotentConsumer {
  private const string Queue = "example.once";

  /* What tells two messages apart is their id; whoever sends again sends the same one. */
  private static void Publish(Connection mq, string id) {
    using (var order = Mq.MessageText("one kilo of nails")) {
      Mq.MessageSetId(order, id);
      Mq.Publish(mq, Queue, order, 5 * Mq.SECOND);
    }
    Console.WriteLine("{0} is in its queue", id);
  }

  private static void PublishOrders(Connection mq) {
    using (var topology = Mq.TopologyNew()) {
      Mq.TopologyQueue(topology, Queue, QueueType.QUEUE_QUORUM, 1);
      Mq.TopologyApply(mq, topology, 5 * Mq.SECOND).Dispose();
    }
    foreach (var id in new[] { "order-1", "order-1", "order-2" }) {
      Publish(mq, id);
    }
  }

  /* Before an order is seen here its id is claimed; what was handled already is only acknowledged. */
  private static void Consume(Connection mq, Idempotency claims) {
    // one after the other, so that the story is the same each time
    using (var options = new ConsumerOptions { Idempotency = claims, Prefetch = 1 })
    using (var consumer = Mq.ConsumerOpen(mq, Queue, options)) {
      for (var i = 0; i < 2; i++) {
        using (var order = Mq.ConsumerNext(consumer, 5 * Mq.SECOND)) {
          Console.WriteLine("{0}: charged", Mq.EnvelopeId(Mq.DeliveryEnvelope(order)));
          Mq.DeliverySettle(order, Outcome.ACCEPTED);
        }
      }
      Mq.ConsumerDrain(consumer, 5 * Mq.SECOND);
      var counters = Mq.ConsumerGetCounters(consumer);
      Console.WriteLine("{0} were charged, {1} had been before", counters.Acknowledged, counters.Duplicates);
    }
  }

  private static void Main(string[] arguments) {
    using (var claims = Mq.IdempotencyOpen(arguments.Length > 1 ? arguments[1] : "memory:"))
    using (var mq = Mq.Connect(arguments.Length > 0 ? arguments[0] : "memory://example")) {
      PublishOrders(mq);
      Consume(mq, claims);
      Mq.ConnectionClose(mq, 5 * Mq.SECOND);
    }
  }
}
