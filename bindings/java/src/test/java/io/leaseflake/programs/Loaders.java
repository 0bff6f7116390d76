package io.leaseflake.programs;

import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.Set;

/** Several class loaders at once, as applications of one server have them: Loaders CLASSES STORE. */
public final class Loaders {
    private Loaders() {}

    private static AutoCloseable open(ClassLoader loader, String store) throws ReflectiveOperationException {
        Class<?> options = loader.loadClass("io.leaseflake.Options");
        Class<?> generator = loader.loadClass("io.leaseflake.IdGenerator");
        Object builder = options.getMethod("builder").invoke(null);
        Class<?> builderClass = loader.loadClass("io.leaseflake.Options$Builder");
        builderClass.getMethod("store", String.class).invoke(builder, store);
        Object built = builderClass.getMethod("build").invoke(builder);
        return (AutoCloseable) generator.getMethod("open", options).invoke(null, built);
    }

    private static WeakReference<ClassLoader> use(URL[] classes, String store, Set<Long> made) throws Exception {
        ClassLoader one = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader());
        ClassLoader two = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader());
        try (AutoCloseable first = open(one, store);
                AutoCloseable second = open(two, store)) {
            if (first.getClass() == second.getClass()) {
                throw new AssertionError("one class loader");
            }
            Method nextOfFirst = first.getClass().getMethod("nextId");
            Method nextOfSecond = second.getClass().getMethod("nextId");
            for (int round = 0; round < 1000; round++) {
                made.add((Long) nextOfFirst.invoke(first));
                made.add((Long) nextOfSecond.invoke(second));
            }
        }
        return new WeakReference<>(one);
    }

    public static void main(String[] arguments) throws Exception {
        URL[] classes = {Paths.get(arguments[0]).toUri().toURL()};
        Set<Long> made = new HashSet<>();
        for (int round = 0; round < 3; round++) {
            WeakReference<ClassLoader> loader = use(classes, arguments[1], made);
            // A server that undeploys: the library's threads outlive nothing that they need.
            for (int look = 0; look < 20 && loader.get() != null; look++) {
                System.gc();
                Thread.sleep(10);
            }
        }
        System.out.println(made.size());
    }
}
