package io.leaseflake.programs;

import io.leaseflake.IdGenerator;
import io.leaseflake.Options;

/** Makes one ID, or says twice why it cannot: One. */
public final class One {
    private One() {}

    public static void main(String[] arguments) {
        for (int call = 0; call < 2; call++) {
            try (IdGenerator ids = IdGenerator.open(Options.builder().store("memory:").build())) {
                System.out.println(ids.nextId() > 0 ? "made" : "none");
            } catch (UnsatisfiedLinkError error) {
                System.out.println(error.getMessage());
            }
        }
    }
}
