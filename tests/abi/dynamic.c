/* The library as a plug-in: loaded, used, unloaded, again; and unloaded with a generator open, whose thread and exit handler
 * must outlive it. The argument is its path. */
#include <leaseflake.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            fprintf(stderr, "line %d: does not hold: %s\n", __LINE__, #condition); \
            _exit(1);                                                   \
        }                                                               \
    } while (0)

struct library {
    void *handle;
    leaseflake_code_t (*open)(const leaseflake_options_t *, leaseflake_generator_t **, leaseflake_error_t *);
    leaseflake_code_t (*next_id)(const leaseflake_generator_t *, int64_t *);
    void (*free)(leaseflake_generator_t *);
    uint32_t (*abi_version)(void);
};

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    CHECK(found != NULL);
    return found;
}

/* ISO C has no way from a void pointer to a function. */
#define LOOK_UP(place, name)                                \
    do {                                                    \
        void *found = symbol((place).handle, "leaseflake_" #name); \
        memcpy(&(place).name, &found, sizeof found);        \
    } while (0)

static struct library load(const char *path) {
    struct library library;
    memset(&library, 0, sizeof library);
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library.handle == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library.handle != NULL);
    LOOK_UP(library, open);
    LOOK_UP(library, next_id);
    LOOK_UP(library, free);
    LOOK_UP(library, abi_version);
    CHECK(library.abi_version() == LEASEFLAKE_ABI_VERSION);
    return library;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int64_t last = 0, id = 0;
    leaseflake_generator_t *ids = NULL;
    setenv("LEASEFLAKE_STORE", "memory:dynamic", 1);
    for (int round = 0; round < 20; round++) {
        struct library library = load(argv[1]);
        CHECK(library.open(NULL, &ids, NULL) == LEASEFLAKE_OK);
        CHECK(library.next_id(ids, &id) == LEASEFLAKE_OK && id > last);
        last = id;
        if (round % 2 == 0) library.free(ids);
        CHECK(dlclose(library.handle) == 0);
    }
    /* Time for a thread whose code is gone to fall. */
    usleep(200000);
    return 0;
}
