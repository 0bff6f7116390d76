import io.leaseflake.IdGenerator;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Writes IDs to a file, one a line: java -cp leaseflake.jar Count.java COUNT FILE */
public final class Count {
    private Count() {}

    public static void main(String[] arguments) throws IOException {
        int count = Integer.parseInt(arguments[0]);
        try (IdGenerator ids = IdGenerator.open();
                BufferedWriter file = Files.newBufferedWriter(Paths.get(arguments[1]))) {
            for (int made = 0; made < count; made++) {
                file.write(ids.nextString());
                file.write('\n');
            }
        }
    }
}
