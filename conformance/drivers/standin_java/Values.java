import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.LongString;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Headers, bodies and messages as the conformance protocol writes them, and as the Java client has them. */
final class Values {

    static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    private Values() {}

    /** Headers that a request names, as this client takes them. */
    static Map<String, Object> headersFrom(JsonElement given) {
        Map<String, Object> headers = new LinkedHashMap<>();
        if (given != null && given.isJsonObject()) {
            given.getAsJsonObject().entrySet().forEach(each -> headers.put(each.getKey(), fromWireForm(each.getValue())));
        }
        return headers;
    }

    static Object fromWireForm(JsonElement value) {
        if (value.isJsonNull()) {
            return null;
        }
        if (value.isJsonArray()) {
            List<Object> list = new ArrayList<>();
            value.getAsJsonArray().forEach(item -> list.add(fromWireForm(item)));
            return list;
        }
        if (value.isJsonObject()) {
            JsonObject held = value.getAsJsonObject();
            boolean isTyped = held.size() == 2 && held.has("type");
            if (isTyped && held.has("value")) {
                return typedFrom(held.get("type").getAsString(), held.get("value"));
            }
            return isTyped && held.has("base64") ? longString(decoded(held.get("base64"))) : headersFrom(value);
        }
        JsonPrimitive plain = value.getAsJsonPrimitive();
        if (plain.isBoolean()) {
            return plain.getAsBoolean();
        }
        if (plain.isString()) {
            return plain.getAsString();
        }
        return plain.getAsString().matches("-?\\d+") ? (Object) plain.getAsLong() : plain.getAsDouble();
    }

    private static LongString longString(byte[] bytes) {
        return com.rabbitmq.client.impl.LongStringHelper.asLongString(bytes);
    }

    private static byte[] decoded(JsonElement encoded) {
        return Base64.getDecoder().decode(encoded.getAsString());
    }

    /** This client has no unsigned integers: they become the next wider one. */
    private static Object typedFrom(String kind, JsonElement held) {
        return switch (kind) {
            case "void" -> null;
            case "bytes" -> decoded(held);
            case "decimal" -> new BigDecimal(held.getAsString());
            case "float" -> held.getAsFloat();
            case "double" -> held.getAsDouble();
            case "timestamp" -> new Date(held.getAsLong() * 1000);
            case "int8" -> held.getAsByte();
            case "int16", "uint8" -> held.getAsShort();
            case "int32", "uint16" -> held.getAsInt();
            case "int64", "uint32", "uint64" -> held.getAsBigInteger().longValueExact();
            default -> fromWireForm(held);
        };
    }

    /** A header for an answer, in plain JSON where that says enough. */
    static JsonElement toWireForm(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Double) {
            return JSON.toJsonTree(value);
        }
        if (value instanceof String || value instanceof LongString) {
            byte[] bytes = value instanceof LongString text ? text.getBytes() : value.toString().getBytes(StandardCharsets.UTF_8);
            String text = utf8(bytes);
            return text != null ? new JsonPrimitive(text) : pair("longstr", "base64", new JsonPrimitive(encoded(bytes)));
        }
        if (value instanceof List<?> list) {
            JsonArray array = new JsonArray();
            list.forEach(item -> array.add(toWireForm(item)));
            return array;
        }
        if (value instanceof Map<?, ?> table) {
            JsonObject object = new JsonObject();
            table.forEach((name, item) -> object.add(name.toString(), toWireForm(item)));
            return object;
        }
        return typed(value);
    }

    /** A header with the type that the client gives it on the wire. */
    static JsonObject typed(Object value) {
        if (value instanceof byte[] bytes) {
            return pair("bytes", "value", new JsonPrimitive(encoded(bytes)));
        }
        if (value instanceof Date date) {
            return pair("timestamp", "value", new JsonPrimitive(date.getTime() / 1000));
        }
        if (value instanceof BigDecimal decimal) {
            return pair("decimal", "value", new JsonPrimitive(decimal.toPlainString()));
        }
        if (value instanceof Byte || value instanceof Short || value instanceof Integer || value instanceof Float) {
            return pair(nameOf(value), "value", JSON.toJsonTree(value));
        }
        JsonElement plain = toWireForm(value);
        return plain.isJsonObject() && value instanceof LongString ? plain.getAsJsonObject()
                : pair(nameOf(value), "value", plain);
    }

    private static String nameOf(Object value) {
        if (value == null) {
            return "void";
        }
        if (value instanceof List) {
            return "array";
        }
        if (value instanceof Map) {
            return "table";
        }
        return switch (value.getClass().getSimpleName()) {
            case "Boolean" -> "bool";
            case "Byte" -> "int8";
            case "Short" -> "int16";
            case "Integer" -> "int32";
            case "Long" -> "int64";
            case "Float" -> "float";
            case "Double" -> "double";
            default -> "longstr";
        };
    }

    private static JsonObject pair(String kind, String member, JsonElement value) {
        JsonObject object = new JsonObject();
        object.addProperty("type", kind);
        object.add(member, value);
        return object;
    }

    private static String encoded(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static String utf8(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException binary) {
            return null;
        }
    }

    static byte[] bodyOf(JsonObject given) {
        if (given.has("bodyBase64")) {
            return decoded(given.get("bodyBase64"));
        }
        return given.has("body") ? given.get("body").getAsString().getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    /** An envelope for an answer. The replay's stamps are ordinary headers to this peer. */
    static JsonObject envelopeFor(Envelope read, String replyTo) {
        JsonObject answer = new JsonObject();
        answer.addProperty("id", read.id);
        answer.addProperty("type", read.type);
        answer.addProperty("version", read.version);
        answer.addProperty("correlation", read.correlation());
        answer.addProperty("causation", read.causation);
        answer.addProperty("attempt", read.attempt);
        answer.addProperty("firstSeen", read.firstSeen);
        answer.addProperty("origin", read.origin);
        answer.addProperty("error", read.error);
        answer.addProperty("claim", read.claim);
        answer.add("route", read.route == null ? JsonNull.INSTANCE : JSON.toJsonTree(read.route.split(",")));
        answer.addProperty("routePosition", read.route == null ? null : (Number) read.routePosition);
        answer.addProperty("routeId", read.route == null ? null : read.routeId);
        answer.addProperty("replayedFrom", Envelope.text(read.headers.get("acemq-replayed-from")));
        answer.addProperty("replayedAt", replayedAt(read.headers.get("acemq-replayed-at")));
        answer.addProperty("replayCount", Envelope.number(read.headers.get("acemq-replay-count"), 0).intValue());
        String wanted = Envelope.text(read.headers.get("acemq-reply-to"));
        answer.addProperty("replyTo", wanted != null ? wanted : replyTo);
        return answer;
    }

    private static Long replayedAt(Object stamped) {
        if (stamped instanceof Number millis) {
            return millis.longValue();
        }
        try {
            return stamped == null ? null : (Long) OffsetDateTime.parse(stamped.toString()).toInstant().toEpochMilli();
        } catch (DateTimeParseException unreadable) {
            return null;
        }
    }

    /** A message for an answer. */
    static JsonObject messageFor(String routingKey, AMQP.BasicProperties properties, byte[] body) {
        Envelope read = Envelope.read(properties.getHeaders(), routingKey, properties.getMessageId());
        JsonObject answer = new JsonObject();
        answer.add("envelope", envelopeFor(read, properties.getReplyTo()));
        answer.add("headers", toWireForm(read.headers));
        JsonObject kept = new JsonObject();
        kept.addProperty("messageId", properties.getMessageId());
        kept.addProperty("contentType", properties.getContentType());
        kept.addProperty("contentEncoding", properties.getContentEncoding());
        kept.addProperty("deliveryMode", properties.getDeliveryMode());
        kept.addProperty("priority", properties.getPriority());
        kept.addProperty("replyTo", properties.getReplyTo());
        kept.addProperty("correlationId", properties.getCorrelationId());
        kept.addProperty("type", properties.getType());
        Date stamped = properties.getTimestamp();
        kept.addProperty("timestamp", stamped == null ? null : (Long) (stamped.getTime() / 1000));
        kept.addProperty("appId", properties.getAppId());
        answer.add("properties", kept);
        String text = utf8(body);
        answer.addProperty(text != null ? "body" : "bodyBase64", text != null ? text : encoded(body));
        return answer;
    }
}
