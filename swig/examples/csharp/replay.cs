using System;
using System.Text;
using AceMQ;

/* Replay: orders that ended among the dead letters go home after the fix, all but those that the filter leaves where
 * they are.
 *
 *   replay.exe [URL]     without a URL: a broker inside this program */
internal static class ReplayAfterTheFix {
  private const string Queue = "example.replayed";

  /* Takes `count` orders and says what happened to each of them. */
  private static void Work(Connection mq, ulong count, Outcome outcome) {
    using (var consumer = Mq.ConsumerOpen(mq, Queue)) {
      for (ulong i = 0; i < count; i++) {
        using (var order = Mq.ConsumerNext(consumer, 5 * Mq.SECOND)) {
          var said = outcome == Outcome.ACCEPTED ? "charged" : "the price list is missing";
          Console.WriteLine("  {0}: {1}", Mq.EnvelopeId(Mq.DeliveryEnvelope(order)), said);
          Mq.DeliverySettle(order, outcome, "the price list is missing");
        }
      }
      Mq.ConsumerDrain(consumer, 5 * Mq.SECOND);
      Mq.ConsumerClose(consumer);
    }
  }

  private static void PublishOrders(Connection mq) {
    using (var topology = Mq.TopologyNew()) {
      Mq.TopologyQueue(topology, Queue, QueueType.QUEUE_QUORUM, 1);
      Mq.TopologyApply(mq, topology, 5 * Mq.SECOND).Dispose();
    }
    for (var number = 1; number <= 3; number++) {
      using (var order = Mq.MessageText("one kilo of nails")) {
        Mq.MessageSetId(order, "order-" + number);
        Mq.MessageSetHeader(order, "shop", number == 2 ? "south" : "north");
        Mq.Publish(mq, Queue, order, 5 * Mq.SECOND);
      }
    }
  }

  private static bool IsOfTheNorth(Delivery order) {
    var shop = Mq.ValueBytes(Mq.TableGet(Mq.DeliveryHeaders(order), "shop"));
    return shop != null && Encoding.UTF8.GetString(shop) == "north";
  }

  private static void Main(string[] arguments) {
    using (var mq = Mq.Connect(arguments.Length > 0 ? arguments[0] : "memory://example")) {
      PublishOrders(mq);
      Console.WriteLine("a bad day:");
      Work(mq, 3, Outcome.REJECTED);
      var result = Mq.Replay(mq, Queue, new ReplayOptions { Filter = IsOfTheNorth });
      Console.WriteLine("after the fix: {0} went home, {1} stayed", result.Replayed, result.Left);
      Work(mq, result.Replayed, Outcome.ACCEPTED);
      Mq.ConnectionClose(mq, 5 * Mq.SECOND);
    }
  }
}
