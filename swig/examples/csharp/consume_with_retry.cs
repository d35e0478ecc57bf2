using System;
using System.Text;
using AceMQ;

/* Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does and ends among the
 * dead letters, and order 4 is no JSON and is parked without being seen.
 *
 *   consume_with_retry.exe [URL]     without a URL: a broker inside this program */
internal static class ConsumeWithRetry {
  private const string Queue = "example.retried";

  private static void Publish(Connection mq, string id, string json) {
    using (var order = Mq.MessageNew(Encoding.UTF8.GetBytes(json))) {
      Mq.MessageSetId(order, id);
      Mq.MessageSetContentType(order, "application/json");
      Mq.Publish(mq, Queue, order, 5 * Mq.SECOND);
    }
  }

  private static void Prepare(Connection mq, Policy policy) {
    using (var topology = Mq.TopologyNew()) {
      Mq.TopologyQueue(topology, Queue, QueueType.QUEUE_QUORUM, 1, policy);
      Mq.TopologyApply(mq, topology, 5 * Mq.SECOND).Dispose();
    }
    for (var number = 1; number <= 3; number++) {
      Publish(mq, "order-" + number, "{\"id\":" + number + "}");
    }
    Publish(mq, "order-4", "{\"id\":");
  }

  /* What is said of an order is carried out: acknowledged, or tried again as the policy has it. */
  private static void Handle(Delivery order) {
    var envelope = Mq.DeliveryEnvelope(order);
    var id = Mq.EnvelopeId(envelope);
    var attempt = Mq.EnvelopeAttempt(envelope);
    var fails = id == "order-3" || (id == "order-2" && attempt < 3);
    Console.WriteLine("{0}, attempt {1}: {2}", id, attempt, fails ? "no stock" : "charged");
    if (fails) {
      Mq.DeliverySettle(order, Outcome.FAILED, "no stock");
    } else {
      Mq.DeliverySettle(order, Outcome.ACCEPTED);
    }
  }

  private static void Consume(Connection mq, Policy policy) {
    var options = new ConsumerOptions { Retry = policy, Codec = Mq.CodecBuiltin("json") };
    using (var consumer = Mq.ConsumerOpen(mq, Queue, options)) {
      try {
        while (true) {
          using (var order = Mq.ConsumerNext(consumer, 2 * Mq.SECOND)) {
            Handle(order);
          }
        }
      } catch (TimedOutException) {
        // no more orders
      }
      var counters = Mq.ConsumerGetCounters(consumer);
      Console.WriteLine("{0} succeeded after {1} retries, {2} among the dead letters, {3} parked",
                        counters.Acknowledged, counters.Retried, counters.DeadLettered, counters.Parked);
    }
  }

  private static void Main(string[] arguments) {
    using (var mq = Mq.Connect(arguments.Length > 0 ? arguments[0] : "memory://example"))
    using (var policy = Mq.PolicyExponential(3, 100, Mq.SECOND)) { // 100 ms, 200 ms
      Mq.PolicyJitter(policy, 0); // so that the story is the same each time
      Prepare(mq, policy);
      Consume(mq, policy);
      Mq.ConnectionClose(mq, 5 * Mq.SECOND);
    }
  }
}
