package io.leaseflake;

import static io.leaseflake.Support.registry;
import static io.leaseflake.Support.run;
import static io.leaseflake.Support.startBy;
import static io.leaseflake.Support.tested;
import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Finding and loading the native library. */
class LoaderTest {
    private static final List<String> MADE = List.of("made", "made");

    @TempDir
    Path folder;

    private static void says(List<String> printed, String... parts) {
        // The virtual machine may have a word of its own about a broken library.
        List<String> lines = printed.stream().filter(line -> line.startsWith("leaseflake: ")).collect(toList());
        assertEquals(2, lines.size(), () -> String.join("\n", printed));
        // The same the second time: no "class could not be initialised".
        assertEquals(lines.get(0), lines.get(1));
        for (String part : parts) {
            assertTrue(lines.get(0).contains(part), () -> part + " in: " + lines.get(0));
        }
    }

    /** The library of the JAR, copied out of it. */
    private Path library() throws IOException {
        Platform platform = Platform.current();
        String name = "io/leaseflake/native/" + platform.name + "/" + platform.fileName;
        Path copy = folder.resolve(platform.fileName);
        if (Files.isDirectory(tested())) {
            return Files.copy(tested().resolve(name), copy);
        }
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + tested().toUri()), Map.of())) {
            return Files.copy(jar.getPath(name), copy);
        }
    }

    private boolean isEmpty() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.findAny().isEmpty();
        }
    }

    @Test
    void theLibraryOfTheJarIsExtractedWhereTheUserSaysAndRemoved() throws IOException {
        assertEquals(MADE, run(List.of("-Dleaseflake.native.dir=" + folder), "One"));
        assertTrue(isEmpty());
        assertEquals(MADE, run(List.of("-Djava.io.tmpdir=" + folder), "One"));
        try (Stream<Path> files = Files.list(folder)) {
            assertFalse(files.anyMatch(file -> file.getFileName().toString().startsWith("leaseflake")));
        }
    }

    @Test
    void aLibraryThatIsNamedOrInTheLibraryPathIsTakenAsItIs() throws IOException {
        Path library = library();
        // Nowhere to extract to: the one in the JAR is not needed.
        String nowhere = "-Dleaseflake.native.dir=" + folder.resolve("none");
        assertEquals(MADE, run(List.of(nowhere, "-Dleaseflake.native.path=" + library), "One"));
        assertEquals(MADE, run(List.of(nowhere, "-Dleaseflake.native.path=" + folder), "One"));
        assertEquals(MADE, run(List.of(nowhere, "-Djava.library.path=" + folder), "One"));
    }

    @Test
    void aLibraryThatCannotBeLoadedIsNamedWithTheWayOut() throws IOException {
        says(run(List.of("-Dleaseflake.native.path=" + folder), "One"), "leaseflake.native.path", folder.toString(), "no file");
        Path broken = Files.writeString(folder.resolve("broken.so"), "no library");
        says(run(List.of("-Dleaseflake.native.path=" + broken), "One"), "cannot be loaded", broken.toString());
        says(run(List.of("-Dleaseflake.native.dir=" + folder.resolve("none")), "One"), "cannot be written",
                folder.resolve("none").toString(), "-Dleaseflake.native.dir=", "-Dleaseflake.native.path=");
    }

    @Test
    void aPlatformWithoutALibraryIsNamedAndMuslIsToldApart() throws IOException {
        says(run(List.of("-Dos.arch=riscv64"), "One"), "no native library for linux-riscv64-gnu", "-Dleaseflake.native.path=");
        says(run(List.of("-Dos.name=Plan 9"), "One"), "no native library for plan9-");
        Path maps = folder.resolve("maps");
        Files.writeString(maps, "7f00-7f01 r-xp 0 00:00 0 /lib/ld-musl-x86_64.so.1\n");
        Platform musl = Platform.of("Linux", "amd64", maps);
        assertEquals("linux-x64-musl", musl.name);
        assertTrue(NativeLibrary.missing(musl).contains("musl, not glibc"), NativeLibrary.missing(musl));
        Files.writeString(maps, "7f00-7f01 r-xp 0 00:00 0 /lib64/ld-linux-x86-64.so.2\n7f02-7f03 r-xp 0 00:00 0 /usr/lib/libc.so.6\n");
        assertEquals("linux-x64-gnu", Platform.of("Linux", "x86_64", maps).name);
        assertEquals("linux-arm64-gnu", Platform.of("Linux", "aarch64", folder.resolve("none")).name);
        assertEquals("darwin-arm64", Platform.of("Mac OS X", "aarch64", maps).name);
        assertEquals("win32-x64-msvc", Platform.of("Windows 11", "amd64", maps).name);
    }

    @Test
    void aFolderThatForbidsToExecuteIsExplained() throws IOException, InterruptedException {
        List<String> apart = List.of("unshare", "--map-root-user", "--mount");
        boolean possible = new ProcessBuilder(Stream.concat(apart.stream(), Stream.of("true")).toArray(String[]::new))
                .start().waitFor() == 0;
        assumeTrue(possible || "true".equals(System.getenv("CI")), "mounting needs user namespaces or root");
        String mount = "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\"";
        List<String> by = Stream.concat(apart.stream(), Stream.of("sh", "-c", mount, folder.toString()))
                .collect(toList());
        says(startBy(by, List.of("-Dleaseflake.native.dir=" + folder), "One").lines(0), "noexec", folder.toString(),
                "-Dleaseflake.native.dir=", "-Dleaseflake.native.path=");
    }

    @Test
    void anOldSystemIsTold() {
        String message = NativeLibrary.explained("/tmp", "/lib/libc.so.6: version `GLIBC_2.34' not found");
        assertTrue(message.contains("older than 2.34"), message);
    }

    @Test
    void twoClassLoadersHaveEachALibraryOfTheirOwnAndMayGoAgain() throws IOException {
        String store = registry(folder);
        List<String> expected = List.of("6000");
        assertEquals(expected, run(List.of(), "Loaders", tested().toString(), store));
        // Also where both are told to take the same file.
        assertEquals(expected, run(List.of("-Dleaseflake.native.path=" + library()), "Loaders", tested().toString(), store));
        assertEquals(expected, run(List.of("-Djava.library.path=" + folder), "Loaders", tested().toString(), store));
    }

    @Test
    void aLibraryOfAnotherVersionIsRefused() {
        String message = NativeLibrary.otherVersion("somewhere", "9.9.9").getMessage();
        assertTrue(message.contains("9.9.9") && message.contains(Native.VERSION) && message.contains("somewhere"), message);
    }
}
