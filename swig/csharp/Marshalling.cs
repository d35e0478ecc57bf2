using System;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Text;

namespace AceMQ {
  /* Bytes on their way into the library and out of it. */
  internal static class Bytes {
    [StructLayout(LayoutKind.Sequential)]
    internal struct View {
      internal IntPtr Data;
      internal UIntPtr Length;
    }

    /* Bytes that stay where they are while a call reads them; null is no bytes at all. */
    internal sealed class Pinned : IDisposable {
      internal View View;
      private GCHandle handle;

      internal Pinned(byte[] bytes) {
        if (bytes != null) {
          handle = GCHandle.Alloc(bytes.Length == 0 ? new byte[1] : bytes, GCHandleType.Pinned);
          View.Data = handle.AddrOfPinnedObject();
          View.Length = (UIntPtr)(uint)bytes.Length;
        }
      }

      internal Pinned(string text) : this(text == null ? null : Encoding.UTF8.GetBytes(text)) {
      }

      public void Dispose() {
        if (handle.IsAllocated) {
          handle.Free();
        }
      }
    }

    /* A text that C would cut is refused. */
    internal static string Text(string text) {
      if (text != null && text.IndexOf('\0') >= 0) {
        throw new ArgumentException("a text must not hold a NUL");
      }
      return text;
    }

    /* A length and the bytes behind it, which are freed; null where there are none. */
    internal static byte[] Take(IntPtr given) {
      if (given == IntPtr.Zero) {
        return null;
      }
      var bytes = new byte[checked((int)Marshal.ReadIntPtr(given).ToInt64())];
      Marshal.Copy(given + IntPtr.Size, bytes, 0, bytes.Length);
      MqPINVOKE.acemq_csharp_free(given);
      return bytes;
    }
  }

  internal static class Batch {
    /* The number of messages, and their handles. */
    internal static IntPtr[] Pointers(Message[] messages) {
      var pointers = new IntPtr[messages.Length + 1];
      pointers[0] = (IntPtr)messages.Length;
      for (var i = 0; i < messages.Length; i++) {
        pointers[i + 1] = Message.getCPtr(messages[i]).Handle;
      }
      return pointers;
    }

    internal static AceMQException[] Take(IntPtr given, int count) {
      var errors = new AceMQException[count];
      for (var i = 0; given != IntPtr.Zero && i < count; i++) {
        errors[i] = AceMQException.Take(Marshal.ReadIntPtr(given, i * IntPtr.Size));
      }
      MqPINVOKE.acemq_csharp_free(given);
      return errors;
    }
  }

  /// <summary>The filter of a replay: true takes the message. The delivery is the library's afterwards.</summary>
  public sealed class Filter {
    public delegate bool Choice(Delivery delivery);
    internal delegate int Callback(IntPtr delivery, IntPtr user);

    internal readonly Choice Chosen;
    internal readonly Callback Native;
    private ExceptionDispatchInfo thrown;

    internal Filter(Choice choice) {
      Chosen = choice;
      Native = choice == null ? (Callback)null : Ask;
    }

    private int Ask(IntPtr pointer, IntPtr user) {
      if (thrown != null) {
        return 0;
      }
      try {
        using (var delivery = new Delivery(pointer, false)) {
          return Chosen(delivery) ? 1 : 0;
        }
      } catch (Exception exception) {
        thrown = ExceptionDispatchInfo.Capture(exception);
        return 0;
      }
    }

    internal void Rethrow() {
      var now = thrown;
      thrown = null;
      if (now != null) {
        now.Throw();
      }
    }
  }
}
