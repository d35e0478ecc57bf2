import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

/** The envelope as the Java peer reads and writes it: section 2, and 16.9, 16.10, 16.16. */
final class Envelope {

    static final String RESERVED = "x-acemq-";

    String id = UUID.randomUUID().toString();
    String type;
    int version = 1;
    String correlation;
    String causation;
    int attempt = 1;
    long firstSeen = System.currentTimeMillis();
    String origin;
    String error;
    String claim;
    String route;
    int routePosition;
    String routeId;
    Map<String, Object> headers = new LinkedHashMap<>();

    Envelope(String type) {
        this.type = type;
    }

    /** What a publish starts from. */
    static Envelope fresh(String routingKey) {
        Envelope made = new Envelope(routingKey.isEmpty() ? "message" : routingKey);
        made.origin = ownOrigin();
        return made;
    }

    /** From a delivery. What has no first-seen is new. */
    static Envelope read(Map<String, Object> headers, String routingKey, String messageId) {
        Map<String, Object> raw = headers == null ? Map.of() : headers;
        String type = text(raw.get(RESERVED + "type"));
        Envelope read = new Envelope(type != null ? type : routingKey.isEmpty() ? "message" : routingKey);
        String id = text(raw.get(RESERVED + "id"));
        id = id != null ? id : messageId;
        read.id = id != null ? id : read.id;
        read.version = Math.toIntExact(Math.max(1, number(raw.get(RESERVED + "version"), 1).intValue()));
        read.attempt = Math.toIntExact(Math.max(1, number(raw.get(RESERVED + "attempt"), 1).intValue()));
        read.firstSeen = number(raw.get(RESERVED + "first-seen"), read.firstSeen).longValue();
        read.correlation = text(raw.get(RESERVED + "correlation"));
        read.causation = text(raw.get(RESERVED + "causation"));
        read.origin = text(raw.get(RESERVED + "origin"));
        read.error = text(raw.get(RESERVED + "error"));
        read.claim = text(raw.get(RESERVED + "claim"));
        read.route = route(text(raw.get(RESERVED + "route")));
        read.routePosition = Math.max(0, number(raw.get(RESERVED + "route-position"), 0).intValue());
        read.routeId = text(raw.get(RESERVED + "route-id"));
        raw.forEach((name, value) -> {
            if (!name.startsWith(RESERVED)) {
                read.headers.put(name, value);
            }
        });
        return read;
    }

    /** A route without spaces around its names and without blank ones. */
    private static String route(String given) {
        if (given == null) {
            return null;
        }
        String names = Arrays.stream(given.split(",")).map(String::trim).filter(name -> !name.isEmpty())
                .collect(Collectors.joining(","));
        return names.isEmpty() ? null : names;
    }

    /** Any header as text; a byte array is read as Java shows one. */
    static String text(Object value) {
        return value == null || value.toString().isEmpty() ? null : value.toString();
    }

    /** Any header as a number; of a float the fraction goes. */
    static Number number(Object value, Number otherwise) {
        if (value instanceof Number given) {
            return given;
        }
        try {
            return value == null ? otherwise : Long.valueOf(value.toString().trim());
        } catch (NumberFormatException unreadable) {
            return otherwise;
        }
    }

    String correlation() {
        return correlation == null ? id : correlation;
    }

    /** All headers; reserved ones that this peer does not know are gone. */
    Map<String, Object> written() {
        Map<String, Object> all = new LinkedHashMap<>(headers);
        all.put(RESERVED + "id", id);
        all.put(RESERVED + "type", type);
        all.put(RESERVED + "version", version);
        all.put(RESERVED + "correlation", correlation());
        all.put(RESERVED + "attempt", attempt);
        all.put(RESERVED + "first-seen", firstSeen);
        optional(all, "causation", causation);
        optional(all, "origin", origin);
        optional(all, "error", error);
        optional(all, "claim", claim);
        if (route != null) {
            all.put(RESERVED + "route", route);
            all.put(RESERVED + "route-position", routePosition);
            optional(all, "route-id", routeId);
        }
        return all;
    }

    /** What goes on with a message that failed: the broker's record of its deaths does not (16.13). */
    Map<String, Object> onHop() {
        Map<String, Object> all = written();
        all.keySet().removeIf(name -> name.equals("x-death") || name.matches("x-(first|last)-death-.*"));
        return all;
    }

    private static void optional(Map<String, Object> all, String name, String value) {
        if (value != null) {
            all.put(RESERVED + name, value);
        }
    }

    static String ownOrigin() {
        try {
            return "acemq@" + InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException nameless) {
            return "acemq@unknown";
        }
    }
}
