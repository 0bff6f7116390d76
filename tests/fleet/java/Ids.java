import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;

/** A stream of IDs: what a killed process had issued is in the file up to its last call. Of one thread. */
final class Ids {
    /** The most IDs that are issued before they are written. */
    static final int BLOCK = 10_000;

    private final FileChannel file;
    private final ByteBuffer bytes = ByteBuffer.allocateDirect(8 * BLOCK).order(ByteOrder.LITTLE_ENDIAN);

    Ids(int thread) throws IOException {
        String path = System.getenv("FLEET_OUT") + "." + thread + ".ordered";
        file = FileChannel.open(Paths.get(path), StandardOpenOption.CREATE_NEW, StandardOpenOption.APPEND);
    }

    void append(long[] ids, int count) throws IOException {
        bytes.clear();
        for (int place = 0; place < count; place++) {
            bytes.putLong(ids[place]);
        }
        bytes.flip();
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }
}
