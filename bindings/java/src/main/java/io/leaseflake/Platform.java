package io.leaseflake;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Locale;

/** Which native library this process needs. */
final class Platform {
    /** The name of its folder in the JAR, such as {@code linux-x64-gnu}. */
    final String name;
    /** The library's file name, such as {@code libleaseflake_java.so}. */
    final String fileName;

    private Platform(String name, String fileName) {
        this.name = name;
        this.fileName = fileName;
    }

    static Platform current() {
        return of(System.getProperty("os.name", ""), System.getProperty("os.arch", ""), Paths.get("/proc/self/maps"));
    }

    /** The platform of these system properties; the maps tell which C library the process runs on. */
    static Platform of(String osName, String osArch, Path maps) {
        String arch = arch(osArch.toLowerCase(Locale.ROOT));
        String os = osName.toLowerCase(Locale.ROOT);
        if (os.startsWith("linux")) {
            return new Platform("linux-" + arch + (isMusl(maps) ? "-musl" : "-gnu"), "libleaseflake_java.so");
        }
        if (os.startsWith("mac")) {
            return new Platform("darwin-" + arch, "libleaseflake_java.dylib");
        }
        if (os.startsWith("windows")) {
            return new Platform("win32-" + arch + "-msvc", "leaseflake_java.dll");
        }
        return new Platform(os.replaceAll("[^a-z0-9]", "") + "-" + arch, "libleaseflake_java.so");
    }

    private static String arch(String osArch) {
        switch (osArch) {
            case "amd64":
            case "x86_64":
                return "x64";
            case "aarch64":
            case "arm64":
                return "arm64";
            default:
                return osArch.replaceAll("[^a-z0-9_]", "");
        }
    }

    /** What is mapped into the process says it: its libraries may be of both kinds where a shim is installed. */
    private static boolean isMusl(Path maps) {
        try {
            String mapped = new String(Files.readAllBytes(maps), StandardCharsets.ISO_8859_1);
            boolean glibc = mapped.contains("/ld-linux") || mapped.contains("/libc.so.6") || mapped.contains("/libc-2.");
            return !glibc && (mapped.contains("/ld-musl-") || mapped.contains("/libc.musl-"));
        } catch (IOException unreadable) {
            return false;
        }
    }

    boolean isMusl() {
        return name.endsWith("-musl");
    }
}
