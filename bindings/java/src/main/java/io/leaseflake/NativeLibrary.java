package io.leaseflake;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Finds and loads the native library, once: {@code -Dleaseflake.native.path}, then {@code java.library.path},
 * then the one in the JAR, extracted into a folder that nobody else can write to.
 */
final class NativeLibrary {
    /** The library, or the folder that it is in. */
    static final String PATH = "leaseflake.native.path";
    /** Where the JAR's library is extracted to. */
    static final String FOLDER = "leaseflake.native.dir";

    private static final String NAME = "leaseflake_java";

    private static volatile boolean loaded;
    private static UnsatisfiedLinkError failed;

    private NativeLibrary() {}

    /**
     * Loads it, unless it is loaded already.
     *
     * @throws UnsatisfiedLinkError the same each time
     */
    static void require() {
        if (!loaded) {
            load();
        }
    }

    private static synchronized void load() {
        if (loaded) {
            return;
        }
        if (failed == null) {
            try {
                String place = find(Platform.current());
                String version = Native.version();
                if (!version.equals(Native.VERSION)) {
                    throw otherVersion(place, version);
                }
                loaded = true;
                return;
            } catch (UnsatisfiedLinkError error) {
                failed = error;
            }
        }
        UnsatisfiedLinkError again = new UnsatisfiedLinkError(failed.getMessage());
        again.initCause(failed);
        throw again;
    }

    /** Loads the first library that there is, and says which. */
    private static String find(Platform platform) {
        String given = System.getProperty(PATH);
        if (given != null && !given.isEmpty()) {
            return loadGiven(platform, given);
        }
        UnsatisfiedLinkError elsewhere;
        try {
            System.loadLibrary(NAME);
            return "in java.library.path";
        } catch (UnsatisfiedLinkError error) {
            // Mostly: there is none. One that another class loader has is in the JAR as well.
            elsewhere = error;
        }
        try {
            return loadBundled(platform);
        } catch (UnsatisfiedLinkError error) {
            error.addSuppressed(elsewhere);
            throw error;
        }
    }

    private static String loadGiven(Platform platform, String given) {
        Path file;
        try {
            Path path = Paths.get(given).toAbsolutePath();
            file = Files.isDirectory(path) ? path.resolve(platform.fileName) : path;
        } catch (InvalidPathException error) {
            throw failure("-D" + PATH + "=" + given + " is no path", error);
        }
        if (!Files.isRegularFile(file)) {
            throw failure("-D" + PATH + "=" + given + ": there is no file " + file, null);
        }
        try {
            System.load(file.toString());
            return file.toString();
        } catch (UnsatisfiedLinkError error) {
            if (!isTaken(error)) {
                throw failure("-D" + PATH + ": " + file + " cannot be loaded: " + error.getMessage(), error);
            }
        }
        // Another class loader of this process has it: a copy is another library to the virtual machine.
        try (InputStream bytes = Files.newInputStream(file)) {
            return loadCopy(platform, bytes, file.toString());
        } catch (IOException error) {
            throw failure("-D" + PATH + ": " + file + " cannot be read: " + error, error);
        }
    }

    private static String loadBundled(Platform platform) {
        String resource = "native/" + platform.name + "/" + platform.fileName;
        try (InputStream bytes = NativeLibrary.class.getResourceAsStream(resource)) {
            if (bytes == null) {
                throw failure(missing(platform), null);
            }
            return loadCopy(platform, bytes, resource);
        } catch (IOException error) {
            throw failure("the native library of this JAR cannot be read: " + error, error);
        }
    }

    /** Loads a copy from a folder that is ours alone, and removes it. */
    private static String loadCopy(Platform platform, InputStream bytes, String what) {
        String parent = System.getProperty(FOLDER);
        if (parent == null || parent.isEmpty()) {
            parent = System.getProperty("java.io.tmpdir");
        }
        Path folder = null;
        Path file = null;
        try {
            folder = Files.createTempDirectory(Paths.get(parent), "leaseflake-", ownerOnly());
            file = folder.resolve(platform.fileName);
            Files.copy(bytes, file);
            System.load(file.toAbsolutePath().toString());
            return what + ", extracted to " + folder;
        } catch (IOException | InvalidPathException error) {
            throw failure("the native library cannot be written into " + parent + " (" + error
                    + "). Choose another folder by -D" + FOLDER + "=FOLDER, or name a library by -D" + PATH
                    + "=FILE", error);
        } catch (UnsatisfiedLinkError error) {
            throw failure(explained(parent, error.getMessage()), error);
        } finally {
            remove(file);
            remove(folder);
        }
    }

    /** That the JAR has nothing for a platform. */
    static String missing(Platform platform) {
        return "this JAR has no native library for " + platform.name
                + (platform.isMusl() ? " (this system's C library is musl, not glibc)" : "")
                + ". Build it from the sources and name it by -D" + PATH + "=FILE"
                + (platform.isMusl() ? ", or use an image with glibc" : "");
    }

    /** What the dynamic linker's refusal of an extracted library means. */
    static String explained(String parent, String refusal) {
        String message = "the native library, extracted to " + parent + ", cannot be loaded: " + refusal;
        if (refusal.contains("failed to map segment") || refusal.contains("Operation not permitted")) {
            return message + ". The folder forbids to execute (mounted noexec): choose another one by -D" + FOLDER
                    + "=FOLDER, or install the library and name it by -D" + PATH + "=FILE";
        }
        if (refusal.contains("GLIBC_")) {
            return message + ". This system's glibc is older than 2.34: build the library from the sources here and"
                    + " name it by -D" + PATH + "=FILE";
        }
        return message;
    }

    private static FileAttribute<?>[] ownerOnly() {
        if (FileSystems.getDefault().supportedFileAttributeViews().contains("posix")) {
            return new FileAttribute<?>[] {
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
            };
        }
        return new FileAttribute<?>[0];
    }

    /** A library that is loaded needs its file no more, but on Windows: there it goes when the process does. */
    private static void remove(Path path) {
        if (path == null) {
            return;
        }
        try {
            Files.deleteIfExists(path);
        } catch (IOException inUse) {
            path.toFile().deleteOnExit();
        }
    }

    private static boolean isTaken(UnsatisfiedLinkError error) {
        return String.valueOf(error.getMessage()).contains("already loaded in another classloader");
    }

    static UnsatisfiedLinkError otherVersion(String place, String version) {
        return failure("the native library " + place + " is of version " + version + ", and the classes are of version "
                + Native.VERSION + ": take both from the same release", null);
    }

    private static UnsatisfiedLinkError failure(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError("leaseflake: " + message);
        if (cause != null) {
            error.initCause(cause);
        }
        return error;
    }
}
