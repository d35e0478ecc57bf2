using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using AceMQ;

/* The module that SWIG makes for C#, spoken to in JSON lines (docs/conformance.md). */
internal static class Driver {
  private sealed class Verb {
    internal string[] Parameters;
    internal Func<Given, Members> Run;
  }

  private static readonly SortedDictionary<string, Verb> verbs = new SortedDictionary<string, Verb>(StringComparer.Ordinal);

  internal static void Add(string name, string parameters, Func<Given, Members> run) {
    verbs[name] = new Verb { Parameters = parameters.Split(' '), Run = run };
  }

  private static Members Answer(string name, Given given) {
    Verb verb;
    if (name == null || !verbs.TryGetValue(name, out verb)) {
      return new Members { { "unsupported", "the verb " + name + " is not known here" } };
    }
    var stranger = given.Names.FirstOrDefault(parameter => !verb.Parameters.Contains(parameter));
    if (stranger != null) {
      return new Members { { "unsupported", "the parameter " + stranger + " is not known here" } };
    }
    try {
      return new Members { { "ok", verb.Run(given) ?? new Members() } };
    } catch (Unsupported why) {
      return new Members { { "unsupported", why.Message } };
    } catch (AceMQException error) {
      return Error(error.Name, error.Message);
    } catch (Refused error) {
      return Error(error.Name, error.Message);
    } catch (Exception error) when (error is ArgumentException || error is FormatException ||
                                    error is InvalidCastException || error is OverflowException) {
      return Error("invalid_argument", error.Message);
    }
  }

  private static Members Error(string name, string message) {
    return new Members { { "error", new Members { { "name", name }, { "message", message } } } };
  }

  private static void Main() {
    var encoding = new UTF8Encoding(false);
    var input = new StreamReader(Console.OpenStandardInput(), encoding);
    var output = new StreamWriter(Console.OpenStandardOutput(), encoding) { AutoFlush = true, NewLine = "\n" };
    Rules.AddVerbs();
    Client.AddVerbs();
    var hello = new Members { { "protocol", 1 }, { "name", "swig_csharp" }, { "version", Mq.Version() },
                              { "verbs", verbs.Keys.Cast<object>().ToList() } };
    output.WriteLine(Json.Write(new Members { { "hello", hello } }));
    for (var line = input.ReadLine(); line != null; line = input.ReadLine()) {
      var request = new Given(Json.Read(line));
      var answer = Answer(request.Text("do"), request.Inner("with"));
      answer["id"] = request["id"];
      output.WriteLine(Json.Write(answer));
    }
    Client.End();
  }
}
