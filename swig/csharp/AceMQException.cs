using System;

namespace AceMQ {
  internal delegate void ErrorCallback(int code, string name, string message, string field, long limit, int replyCode,
                                       int retriable, int fatal);

  /// <summary>A call failed. There is a class for each code: TimedOutException and so on derive from this.</summary>
  public class AceMQException : Exception {
    /// <summary>One of Mq.E_TIMEOUT and its like.</summary>
    public int Code { get; private set; }
    /// <summary>Its stable name, such as unroutable.</summary>
    public string Name { get; private set; }
    /// <summary>The argument, option or header at fault, or "".</summary>
    public string Field { get; private set; }
    /// <summary>The limit that was passed; 0 where there is none.</summary>
    public long Limit { get; private set; }
    /// <summary>The AMQP reply code behind it; 0 where there is none.</summary>
    public int ReplyCode { get; private set; }
    /// <summary>Whether the same call, unchanged, may succeed later.</summary>
    public bool IsRetriable { get; private set; }
    /// <summary>Whether repeating is useless.</summary>
    public bool IsFatal { get; private set; }
    /// <summary>What the call answered all the same, such as the plan of a topology that differs.</summary>
    public object Result { get; internal set; }

    internal AceMQException(string message) : base(message) {
    }

    internal static AceMQException Of(int code, string name, string message, string field, long limit, int replyCode,
                                      int retriable, int fatal) {
      var made = ErrorClasses.Make(code, message);
      made.Code = code;
      made.Name = name;
      made.Field = field;
      made.Limit = limit;
      made.ReplyCode = replyCode;
      made.IsRetriable = retriable != 0;
      made.IsFatal = fatal != 0;
      return made;
    }

    internal static void Pend(int code, string name, string message, string field, long limit, int replyCode,
                              int retriable, int fatal) {
      MqPINVOKE.Pend(Of(code, name, message, field, limit, replyCode, retriable, fatal));
    }

    /* An error that is told and not thrown; frees it. */
    internal static AceMQException Take(IntPtr error) {
      AceMQException made = null;
      ErrorCallback take = (code, name, message, field, limit, replyCode, retriable, fatal) => {
        made = Of(code, name, message, field, limit, replyCode, retriable, fatal);
      };
      MqPINVOKE.acemq_csharp_describe(error, take);
      GC.KeepAlive(take);
      return made;
    }
  }
}
