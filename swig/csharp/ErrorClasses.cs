using System;
using System.Collections.Generic;

namespace AceMQ {
  /// <summary>The error invalid_argument.</summary>
  public sealed class InvalidArgumentException : AceMQException {
    internal InvalidArgumentException(string message) : base(message) {
    }
  }

  /// <summary>The error limit.</summary>
  public sealed class LimitException : AceMQException {
    internal LimitException(string message) : base(message) {
    }
  }

  /// <summary>The error parse.</summary>
  public sealed class ParseException : AceMQException {
    internal ParseException(string message) : base(message) {
    }
  }

  /// <summary>The error reserved_header.</summary>
  public sealed class ReservedHeaderException : AceMQException {
    internal ReservedHeaderException(string message) : base(message) {
    }
  }

  /// <summary>The error state.</summary>
  public sealed class StateException : AceMQException {
    internal StateException(string message) : base(message) {
    }
  }

  /// <summary>The error closed.</summary>
  public sealed class ClosedException : AceMQException {
    internal ClosedException(string message) : base(message) {
    }
  }

  /// <summary>The error forked.</summary>
  public sealed class ForkedException : AceMQException {
    internal ForkedException(string message) : base(message) {
    }
  }

  /// <summary>The error from_handler.</summary>
  public sealed class FromHandlerException : AceMQException {
    internal FromHandlerException(string message) : base(message) {
    }
  }

  /// <summary>The error wrong_thread.</summary>
  public sealed class WrongThreadException : AceMQException {
    internal WrongThreadException(string message) : base(message) {
    }
  }

  /// <summary>The error settled.</summary>
  public sealed class SettledException : AceMQException {
    internal SettledException(string message) : base(message) {
    }
  }

  /// <summary>The error stale.</summary>
  public sealed class StaleException : AceMQException {
    internal StaleException(string message) : base(message) {
    }
  }

  /// <summary>The error unsupported.</summary>
  public sealed class UnsupportedException : AceMQException {
    internal UnsupportedException(string message) : base(message) {
    }
  }

  /// <summary>The error out_of_memory.</summary>
  public sealed class NoMemoryException : AceMQException {
    internal NoMemoryException(string message) : base(message) {
    }
  }

  /// <summary>The error system.</summary>
  public sealed class SystemException : AceMQException {
    internal SystemException(string message) : base(message) {
    }
  }

  /// <summary>The error timeout.</summary>
  public sealed class TimedOutException : AceMQException {
    internal TimedOutException(string message) : base(message) {
    }
  }

  /// <summary>The error cancelled.</summary>
  public sealed class CancelledException : AceMQException {
    internal CancelledException(string message) : base(message) {
    }
  }

  /// <summary>The error unreachable.</summary>
  public sealed class UnreachableException : AceMQException {
    internal UnreachableException(string message) : base(message) {
    }
  }

  /// <summary>The error login_refused.</summary>
  public sealed class LoginRefusedException : AceMQException {
    internal LoginRefusedException(string message) : base(message) {
    }
  }

  /// <summary>The error vhost_refused.</summary>
  public sealed class VhostRefusedException : AceMQException {
    internal VhostRefusedException(string message) : base(message) {
    }
  }

  /// <summary>The error connection_lost.</summary>
  public sealed class ConnectionLostException : AceMQException {
    internal ConnectionLostException(string message) : base(message) {
    }
  }

  /// <summary>The error protocol.</summary>
  public sealed class ProtocolException : AceMQException {
    internal ProtocolException(string message) : base(message) {
    }
  }

  /// <summary>The error access_refused.</summary>
  public sealed class AccessRefusedException : AceMQException {
    internal AccessRefusedException(string message) : base(message) {
    }
  }

  /// <summary>The error not_found.</summary>
  public sealed class NotFoundException : AceMQException {
    internal NotFoundException(string message) : base(message) {
    }
  }

  /// <summary>The error locked.</summary>
  public sealed class LockedException : AceMQException {
    internal LockedException(string message) : base(message) {
    }
  }

  /// <summary>The error differs.</summary>
  public sealed class DiffersException : AceMQException {
    internal DiffersException(string message) : base(message) {
    }
  }

  /// <summary>The error channel_closed.</summary>
  public sealed class ChannelClosedException : AceMQException {
    internal ChannelClosedException(string message) : base(message) {
    }
  }

  /// <summary>The error unroutable.</summary>
  public sealed class UnroutableException : AceMQException {
    internal UnroutableException(string message) : base(message) {
    }
  }

  /// <summary>The error nacked.</summary>
  public sealed class NackedException : AceMQException {
    internal NackedException(string message) : base(message) {
    }
  }

  /// <summary>The error refused.</summary>
  public sealed class RefusedException : AceMQException {
    internal RefusedException(string message) : base(message) {
    }
  }

  /// <summary>The error unknown_outcome.</summary>
  public sealed class UnknownOutcomeException : AceMQException {
    internal UnknownOutcomeException(string message) : base(message) {
    }
  }

  /// <summary>The error decode.</summary>
  public sealed class DecodeException : AceMQException {
    internal DecodeException(string message) : base(message) {
    }
  }

  /// <summary>The error store.</summary>
  public sealed class StoreException : AceMQException {
    internal StoreException(string message) : base(message) {
    }
  }

  /// <summary>The error store_full.</summary>
  public sealed class StoreFullException : AceMQException {
    internal StoreFullException(string message) : base(message) {
    }
  }

  /// <summary>The error fenced.</summary>
  public sealed class FencedException : AceMQException {
    internal FencedException(string message) : base(message) {
    }
  }

  /// <summary>The error tls.</summary>
  public sealed class TlsException : AceMQException {
    internal TlsException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_name.</summary>
  public sealed class TlsNameException : AceMQException {
    internal TlsNameException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_untrusted.</summary>
  public sealed class TlsUntrustedException : AceMQException {
    internal TlsUntrustedException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_expired.</summary>
  public sealed class TlsExpiredException : AceMQException {
    internal TlsExpiredException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_plain_server.</summary>
  public sealed class TlsPlainServerException : AceMQException {
    internal TlsPlainServerException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_wanted.</summary>
  public sealed class TlsWantedException : AceMQException {
    internal TlsWantedException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_client_certificate.</summary>
  public sealed class TlsClientCertificateException : AceMQException {
    internal TlsClientCertificateException(string message) : base(message) {
    }
  }

  /// <summary>The error tls_version.</summary>
  public sealed class TlsVersionException : AceMQException {
    internal TlsVersionException(string message) : base(message) {
    }
  }

  internal static class ErrorClasses {
    private static readonly Dictionary<int, Func<string, AceMQException>> makers =
        new Dictionary<int, Func<string, AceMQException>> {
      { 1, message => new InvalidArgumentException(message) },
      { 2, message => new LimitException(message) },
      { 3, message => new ParseException(message) },
      { 4, message => new ReservedHeaderException(message) },
      { 5, message => new StateException(message) },
      { 6, message => new ClosedException(message) },
      { 7, message => new ForkedException(message) },
      { 8, message => new FromHandlerException(message) },
      { 9, message => new WrongThreadException(message) },
      { 10, message => new SettledException(message) },
      { 11, message => new StaleException(message) },
      { 12, message => new UnsupportedException(message) },
      { 20, message => new NoMemoryException(message) },
      { 21, message => new SystemException(message) },
      { 30, message => new TimedOutException(message) },
      { 31, message => new CancelledException(message) },
      { 40, message => new UnreachableException(message) },
      { 41, message => new LoginRefusedException(message) },
      { 42, message => new VhostRefusedException(message) },
      { 43, message => new ConnectionLostException(message) },
      { 44, message => new ProtocolException(message) },
      { 50, message => new AccessRefusedException(message) },
      { 51, message => new NotFoundException(message) },
      { 52, message => new LockedException(message) },
      { 53, message => new DiffersException(message) },
      { 54, message => new ChannelClosedException(message) },
      { 60, message => new UnroutableException(message) },
      { 61, message => new NackedException(message) },
      { 62, message => new RefusedException(message) },
      { 63, message => new UnknownOutcomeException(message) },
      { 70, message => new DecodeException(message) },
      { 80, message => new StoreException(message) },
      { 81, message => new StoreFullException(message) },
      { 82, message => new FencedException(message) },
      { 90, message => new TlsException(message) },
      { 91, message => new TlsNameException(message) },
      { 92, message => new TlsUntrustedException(message) },
      { 93, message => new TlsExpiredException(message) },
      { 94, message => new TlsPlainServerException(message) },
      { 95, message => new TlsWantedException(message) },
      { 96, message => new TlsClientCertificateException(message) },
      { 97, message => new TlsVersionException(message) },
    };

    internal static AceMQException Make(int code, string message) {
      Func<string, AceMQException> make;
      return makers.TryGetValue(code, out make) ? make(message) : new AceMQException(message);
    }
  }
}
