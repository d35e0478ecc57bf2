import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The retry policy and the names as the Java peer has them: sections 1, 5, 16.1, 16.2 and 16.6. Milliseconds. */
record Policy(int attempts, long initial, double multiplier, long cap, double jitter, long age, long threshold) {

    /** The peer has no such thing; the text says which. */
    static final class NotOffered extends RuntimeException {
        NotOffered(String what) {
            super(what);
        }
    }

    private static final Pattern FACTORY = Pattern.compile("(none|fixed|exponential)(?:\\(([^)]*)\\))?");
    private static final Pattern SUFFIX = Pattern.compile("\\.(\\w+)\\(([^)]*)\\)");
    private static final Pattern DURATION = Pattern.compile("(\\d+)(ms|s|m|h|d)");
    private static final Map<String, Long> UNITS =
            Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L);
    /** A policy of the peer that says nothing of age means a year. */
    private static final long A_YEAR = 365 * 86_400_000L;

    private static final Policy ONCE = new Policy(1, 0, 1, Long.MAX_VALUE, 0, A_YEAR, 30_000);

    /** The wait after an attempt, unjittered; the cap applies at each step. */
    long waitAfter(int attempt) {
        double current = initial;
        for (int n = 1; n < attempt && current < cap && multiplier > 1; n++) {
            current *= multiplier;
        }
        return (long) Math.min(current, (double) cap);
    }

    boolean givesUp(int attempt, long messageAge) {
        return attempt >= attempts || messageAge >= age;
    }

    boolean inBroker(long wait) {
        return threshold > 0 && wait > 0 && wait >= threshold;
    }

    /** A wait in the consumer is at least a millisecond. */
    long jittered(long wait, double unit) {
        return jitter <= 0 || wait <= 0 ? wait : Math.max(1, (long) (wait + unit * jitter * wait));
    }

    /** Name and wait of each rung, one a name. */
    Map<String, Long> rungs(String queue) {
        Map<String, Long> found = new LinkedHashMap<>();
        for (int attempt = 1; attempt < attempts; attempt++) {
            long wait = waitAfter(attempt);
            if (inBroker(wait)) {
                found.putIfAbsent(rung(queue, wait), wait);
            }
        }
        return found;
    }

    /** The smallest rung that is long enough, else the longest; null for a wait in the consumer. */
    String rungFor(String queue, long wait) {
        if (!inBroker(wait)) {
            return null;
        }
        String enough = null;
        String longest = null;
        Map<String, Long> rungs = rungs(queue);
        for (Map.Entry<String, Long> each : rungs.entrySet()) {
            if (each.getValue() >= wait && (enough == null || each.getValue() < rungs.get(enough))) {
                enough = each.getKey();
            }
            if (longest == null || each.getValue() > rungs.get(longest)) {
                longest = each.getKey();
            }
        }
        return enough != null ? enough : longest;
    }

    static String rung(String queue, long wait) {
        return queue + ".retry." + rendered(wait);
    }

    /** The largest whole unit. */
    static String rendered(long wait) {
        for (String unit : new String[] {"h", "m", "s"}) {
            if (wait >= UNITS.get(unit) && wait % UNITS.get(unit) == 0) {
                return wait / UNITS.get(unit) + unit;
            }
        }
        return wait + "ms";
    }

    static Map<String, Object> rungArguments(String queue, long wait) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("x-message-ttl", wait);
        arguments.put("x-dead-letter-exchange", "acemq.retry");
        arguments.put("x-dead-letter-routing-key", queue);
        return arguments;
    }

    /** FNV-1a of 32 bits as a signed int, and its floor modulus. */
    static int partition(byte[] key, int count) {
        int hashed = 0x811c9dc5;
        for (byte each : key) {
            hashed = (hashed ^ (each & 0xff)) * 0x01000193;
        }
        return Math.floorMod(hashed, count);
    }

    static int partition(String key, int count) {
        return partition(key.getBytes(StandardCharsets.UTF_8), count);
    }

    private static long duration(String text, long nothing) {
        if (text.equals("0") || text.equals("none")) {
            return nothing;
        }
        Matcher found = DURATION.matcher(text);
        if (!found.matches()) {
            throw new IllegalArgumentException("no duration: " + text);
        }
        return Math.multiplyExact(Long.parseLong(found.group(1)), UNITS.get(found.group(2)));
    }

    /** A policy from its text. The peer has no texts: this only makes its policies reachable. */
    static Policy parse(String text) {
        if (text == null) {
            return ONCE;
        }
        Matcher start = FACTORY.matcher(text);
        if (!start.lookingAt()) {
            throw new IllegalArgumentException("no policy: " + text);
        }
        Policy policy = made(start.group(1), start.group(2) == null ? "" : start.group(2));
        Matcher suffixes = SUFFIX.matcher(text.substring(start.end()));
        while (suffixes.find()) {
            policy = policy.changed(suffixes.group(1), suffixes.group(2));
        }
        return policy;
    }

    private static Policy made(String kind, String arguments) {
        String[] given = arguments.split(",\\s*");
        return switch (kind) {
            case "none" -> ONCE;
            case "fixed" -> new Policy(
                    Integer.parseInt(given[0]), duration(given[1], 0), 1, Long.MAX_VALUE, 0, A_YEAR, 30_000);
            default -> new Policy(Integer.parseInt(given[0]), duration(given[1], 0), 2,
                    duration(given[2], Long.MAX_VALUE), 0.2, A_YEAR, 30_000);
        };
    }

    private Policy changed(String name, String value) {
        return switch (name) {
            case "giveUpAfter" ->
                new Policy(attempts, initial, multiplier, cap, jitter, duration(value, A_YEAR), threshold);
            case "threshold" -> new Policy(attempts, initial, multiplier, cap, jitter, age, duration(value, 0));
            case "jitter" -> new Policy(attempts, initial, multiplier, cap, Double.parseDouble(value), age, threshold);
            case "multiplier" -> new Policy(attempts, initial, Double.parseDouble(value), cap, jitter, age, threshold);
            default -> throw new NotOffered("the peer's policies have no " + name);
        };
    }
}
