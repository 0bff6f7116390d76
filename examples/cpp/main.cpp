// Makes IDs until it is asked to end, and then gives its worker ID back at once.
#include <leaseflake.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

static volatile std::sig_atomic_t asked_to_end = 0;

int main(int argc, char **argv) {
    int count = argc > 1 ? std::atoi(argv[1]) : 5;
    try {
        // By the environment: LEASEFLAKE_STORE and its like say which registry. Options().set("store", ..) is the other way.
        const auto ids = leaseflake::IdGenerator::open();
        std::signal(SIGTERM, [](int) { asked_to_end = 1; });
        std::signal(SIGINT, [](int) { asked_to_end = 1; });
        while (count > 0 && asked_to_end == 0) {
            try {
                const leaseflake::Id id = ids.next_id();
                const leaseflake::IdParts parts = ids.decode(id);
                std::cout << id << " made at " << parts.timestamp_ms << " ms by worker " << parts.datacenter_id << '/'
                          << parts.worker_id << ", sequence " << parts.sequence << '\n';
                --count;
            } catch (const leaseflake::Error &error) {
                if (!error.retryable()) throw;
                std::cerr << error.what() << '\n';
                std::this_thread::sleep_for(error.retry_after());
            }
        }
    } catch (const leaseflake::Error &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0; // The generator has closed at the end of its scope.
}
