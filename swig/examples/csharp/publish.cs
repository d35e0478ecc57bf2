using System;
using AceMQ;

/* Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does not exist.
 *
 *   publish.exe [URL]     without a URL: a broker inside this program */
internal static class Publish {
  /* A durable queue, with the place where its dead letters will lie. Declaring again is fine. */
  private static void DeclareOrders(Connection mq) {
    using (var topology = Mq.TopologyNew()) {
      Mq.TopologyQueue(topology, "example.orders", QueueType.QUEUE_QUORUM, 1);
      Mq.TopologyApply(mq, topology, 5 * Mq.SECOND).Dispose();
    }
  }

  private static void PublishOrder(Connection mq, string queue, int number) {
    using (var order = Mq.MessageJson("{\"id\":" + number + "}")) { // what is wrong with it, publishing tells
      Mq.MessageSetType(order, "order.placed");
      Mq.MessageSetHeader(order, "shop", "north");
      Mq.Publish(mq, queue, order, 5 * Mq.SECOND);
    }
  }

  private static void Main(string[] arguments) {
    using (var mq = Mq.Connect(arguments.Length > 0 ? arguments[0] : "memory://example")) {
      DeclareOrders(mq);
      for (var number = 1; number <= 3; number++) {
        PublishOrder(mq, "example.orders", number);
        Console.WriteLine("order {0} is in its queue, confirmed", number);
      }
      try {
        PublishOrder(mq, "example.nowhere", 4);
      } catch (UnroutableException error) {
        Console.WriteLine("order 4 came back: {0}", error.Message);
      }
      Mq.ConnectionClose(mq, 5 * Mq.SECOND);
    }
  }
}
