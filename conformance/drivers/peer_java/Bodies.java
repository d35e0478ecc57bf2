import org.acemq.amqp.api.AceMqException;
import org.acemq.amqp.api.Codec;

/** Bodies as they are, whatever their content type: the peer's own codec for bytes reads one type only. */
final class Bodies implements Codec {

    @Override
    public String contentType() {
        return "application/octet-stream";
    }

    @Override
    public byte[] encode(Object payload) {
        if (payload instanceof byte[] bytes) {
            return bytes;
        }
        throw new AceMqException("a body is bytes here");
    }

    @Override
    public <T> T decode(byte[] body, Class<T> target) {
        return target.cast(body);
    }

    @Override
    public boolean canDecode(String contentType) {
        return true;
    }
}
