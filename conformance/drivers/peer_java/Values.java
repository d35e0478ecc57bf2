import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import org.acemq.amqp.api.Envelope;

/** Headers, bodies and envelopes as the conformance protocol writes them, and as the peer has them. */
final class Values {

    static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    private Values() {
    }

    /** A text of a request, or null. */
    static String text(JsonObject asked, String name) {
        return has(asked, name) ? asked.get(name).getAsString() : null;
    }

    static boolean has(JsonObject asked, String name) {
        return asked.has(name) && !asked.get(name).isJsonNull();
    }

    static boolean isTrue(JsonObject asked, String name) {
        return has(asked, name) && asked.get(name).getAsBoolean();
    }

    static int whole(JsonObject asked, String name, int missing) {
        return has(asked, name) ? asked.get(name).getAsInt() : missing;
    }

    /** A member that is an object, or an empty one. */
    static JsonObject inner(JsonObject asked, String name) {
        return has(asked, name) ? asked.getAsJsonObject(name) : new JsonObject();
    }

    /** A value that a request names, as the peer takes it. */
    static Object fromWireForm(JsonElement value) {
        if (value.isJsonNull()) {
            return null;
        }
        if (value.isJsonArray()) {
            List<Object> list = new ArrayList<>();
            value.getAsJsonArray().forEach(each -> list.add(fromWireForm(each)));
            return list;
        }
        if (value.isJsonObject()) {
            JsonObject held = value.getAsJsonObject();
            if (held.size() == 2 && held.has("type") && held.has("value")) {
                return typedFrom(text(held, "type"), held.get("value"));
            }
            throw new Policies.NotOffered("the driver gives the peer no table in a header");
        }
        JsonPrimitive plain = value.getAsJsonPrimitive();
        if (plain.isNumber()) {
            return plain.getAsString().matches("-?\\d+") ? (Object) plain.getAsLong() : (Object) plain.getAsDouble();
        }
        return plain.isBoolean() ? (Object) plain.getAsBoolean() : plain.getAsString();
    }

    private static Object typedFrom(String kind, JsonElement held) {
        return switch (kind) {
            case "array", "bool", "longstr" -> fromWireForm(held);
            case "void" -> null;
            case "bytes" -> Base64.getDecoder().decode(held.getAsString());
            case "decimal" -> new BigDecimal(held.getAsString());
            case "float" -> held.getAsFloat();
            case "double" -> held.getAsDouble();
            case "int8" -> held.getAsByte();
            case "int16" -> held.getAsShort();
            case "int32" -> held.getAsInt();
            case "int64" -> held.getAsLong();
            case "timestamp" -> new Date(1000 * held.getAsLong());
            default -> throw new Policies.NotOffered("the peer's client has no " + kind);
        };
    }

    /** A header for an answer: plain where plain JSON keeps the type. */
    static JsonElement toWireForm(Object value) {
        if (value instanceof List<?> list) {
            JsonArray made = new JsonArray();
            list.forEach(each -> made.add(toWireForm(each)));
            return made;
        }
        if (value instanceof Map<?, ?> table) {
            JsonObject made = new JsonObject();
            table.forEach((name, held) -> made.add(String.valueOf(name), toWireForm(held)));
            return made;
        }
        if (value instanceof byte[] bytes) {
            return typed("bytes", new JsonPrimitive(Base64.getEncoder().encodeToString(bytes)));
        }
        if (value instanceof Date date) {
            return typed("timestamp", new JsonPrimitive(date.getTime() / 1000));
        }
        if (value instanceof BigDecimal number) {
            return typed("decimal", new JsonPrimitive(number.toPlainString()));
        }
        String narrow = value == null ? null : Map.of(
                "Byte", "int8", "Short", "int16", "Integer", "int32", "Float", "float").get(value.getClass().getSimpleName());
        return narrow == null ? JSON.toJsonTree(value) : typed(narrow, new JsonPrimitive((Number) value));
    }

    private static JsonObject typed(String kind, JsonElement value) {
        JsonObject made = new JsonObject();
        made.addProperty("type", kind);
        made.add("value", value);
        return made;
    }

    static byte[] bodyFrom(JsonObject message) {
        if (message.has("bodyBase64")) {
            return Base64.getDecoder().decode(text(message, "bodyBase64"));
        }
        return message.has("body") ? text(message, "body").getBytes(StandardCharsets.UTF_8) : new byte[0];
    }

    static void addBody(JsonObject answer, byte[] body) {
        try {
            answer.addProperty("body", StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        } catch (CharacterCodingException binary) {
            answer.addProperty("bodyBase64", Base64.getEncoder().encodeToString(body));
        }
    }

    /** An envelope for an answer. */
    static JsonObject envelopeFor(Envelope read) {
        JsonObject answer = new JsonObject();
        answer.addProperty("id", read.id());
        answer.addProperty("type", read.type());
        answer.addProperty("version", read.version());
        answer.addProperty("correlation", read.correlationId());
        answer.addProperty("causation", read.causationId().orElse(null));
        answer.addProperty("attempt", read.attempt());
        answer.addProperty("firstSeen", read.firstSeen().toEpochMilli());
        answer.addProperty("origin", read.origin().orElse(null));
        answer.addProperty("error", read.error().orElse(null));
        answer.addProperty("replayedFrom", read.replayedFrom().orElse(null));
        answer.add("replayedAt", read.replayedAt()
                .map(at -> (JsonElement) new JsonPrimitive(at.toEpochMilli())).orElse(JsonNull.INSTANCE));
        answer.addProperty("replayCount", read.replayCount());
        return answer;
    }
}
