/* A program with a SQLite of its own and the static library, which has another one inside: each keeps its own. */
#include "check.h"

#include <sqlite3.h>

int main(void) {
    /* A program that was compiled against a SQLite runs with that one. */
    CHECK(strcmp(sqlite3_libversion(), SQLITE_VERSION) == 0);
    CHECK(strcmp(sqlite3_sourceid(), SQLITE_SOURCE_ID) == 0);
    leaseflake_generator_t *ids = open_with(sqlite_store("own.db"));
    int64_t id = 0;
    CHECK_CODE(LEASEFLAKE_OK, leaseflake_next_id(ids, &id));
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "CREATE TABLE t (x); INSERT INTO t VALUES (1)", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_changes(db) == 1);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    leaseflake_free(ids);
    return 0;
}
