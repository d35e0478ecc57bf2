import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.acemq.amqp.api.RetryPolicy;

/** Policies of the peer from the protocol's text. */
final class Policies {

    private static final Pattern FACTORY = Pattern.compile("(none|fixed|exponential)(?:\\(([^)]*)\\))?");
    private static final Pattern SUFFIX = Pattern.compile("\\.(\\w+)\\(([^)]*)\\)");
    private static final Pattern DURATION = Pattern.compile("(\\d+)(ms|s|m|h|d)");
    private static final Map<String, Long> UNITS =
            Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L);

    private Policies() {
    }

    /** A policy of the peer; none at all is one attempt. */
    static RetryPolicy parse(String text) {
        if (text == null) {
            return RetryPolicy.none();
        }
        Matcher start = FACTORY.matcher(text);
        if (!start.lookingAt()) {
            throw new ParseFailed(text + " is no policy");
        }
        RetryPolicy policy = made(start.group(1), start.group(2) == null ? List.of() : List.of(start.group(2).split(",")));
        Matcher suffix = SUFFIX.matcher(text);
        for (int at = start.end(); suffix.find(at); at = suffix.end()) {
            policy = adjusted(policy, suffix.group(1), suffix.group(2));
        }
        return policy;
    }

    private static RetryPolicy made(String kind, List<String> given) {
        if (kind.equals("none")) {
            return RetryPolicy.none();
        }
        int wanted = kind.equals("fixed") ? 2 : 3;
        if (given.size() != wanted) {
            throw new ParseFailed(kind + " takes " + wanted + " arguments");
        }
        int attempts = Integer.parseInt(given.get(0).strip());
        Duration wait = duration(given.get(1));
        return wanted == 2
                ? RetryPolicy.fixed(attempts, wait)
                : RetryPolicy.exponential(attempts, wait, duration(given.get(2)));
    }

    private static RetryPolicy adjusted(RetryPolicy policy, String name, String given) {
        return switch (name) {
            case "wholeSecondNames" -> throw new NotOffered("the peer has milliseconds in the names of its rungs");
            case "jitter" -> policy.withJitter(Double.parseDouble(given));
            case "giveUpAfter" -> policy.giveUpAfter(duration(given));
            case "threshold" -> policy.waitInBrokerFrom(duration(given));
            default -> throw new NotOffered("the peer's policies have no " + name);
        };
    }

    private static Duration duration(String text) {
        String given = text.strip();
        if (given.equals("0")) {
            return Duration.ZERO;
        }
        Matcher found = DURATION.matcher(given);
        if (!found.matches()) {
            throw new ParseFailed(given + " is no duration");
        }
        return Duration.ofMillis(Math.multiplyExact(Long.parseLong(found.group(1)), UNITS.get(found.group(2))));
    }

    /** A text of the request is not what it has to be. */
    static final class ParseFailed extends RuntimeException {
        ParseFailed(String what) {
            super(what);
        }
    }

    /** The peer has no such thing; the text says which. */
    static final class NotOffered extends RuntimeException {
        NotOffered(String what) {
            super(what);
        }
    }
}
