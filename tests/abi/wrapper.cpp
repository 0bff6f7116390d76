// The C++ wrapper, as a user sees it.
#include <leaseflake.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <unordered_set>

#if __cplusplus >= 202002L
#include <span>
#endif

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            std::_Exit(1);                                                                   \
        }                                                                                    \
    } while (0)

using leaseflake::Code;
using leaseflake::Error;
using leaseflake::Id;
using leaseflake::IdGenerator;
using leaseflake::Options;

static_assert(sizeof(IdGenerator) == sizeof(void *));
static_assert(!std::is_copy_constructible_v<IdGenerator> && !std::is_copy_assignable_v<IdGenerator>);
static_assert(std::is_nothrow_move_constructible_v<IdGenerator> && std::is_nothrow_move_assignable_v<IdGenerator>);
static_assert(!std::is_convertible_v<std::int64_t, Id> && !std::is_convertible_v<Id, std::int64_t>);
static_assert(std::is_base_of_v<std::runtime_error, Error>);
static_assert(noexcept(std::declval<const IdGenerator &>().next_id(std::declval<Id &>())));

static IdGenerator open_memory(const char *store) { return IdGenerator::open(Options().set("store", store)); }

template <typename Call> static Error thrown_by(Call call) {
    try {
        call();
    } catch (const Error &error) {
        return error;
    }
    CHECK(!"it throws");
    std::abort();
}

static void ids_are_values() {
    constexpr Id one(1), two(2);
    static_assert(one < two && two > one && one <= one && one >= one && one == Id(1) && one != two);
    CHECK(Id::parse("42") == Id(42) && leaseflake::to_string(Id(42)) == "42" && !Id() && Id(1));
    std::ostringstream out;
    out << Id(9223372036854775807);
    CHECK(out.str() == "9223372036854775807");
    std::unordered_set<Id> set{one, two, one};
    CHECK(set.size() == 2);
    Id untouched(7);
    const std::string_view bad[] = {"", "0", "-1", "12x", "9223372036854775808", std::string_view("1\0", 2),
                                    "11111111111111111111111111"};
    for (std::string_view text : bad) {
        CHECK(Id::parse(text, untouched) == Code::invalid_argument && untouched == Id(7));
        CHECK(thrown_by([&] { (void)Id::parse(text); }).code() == Code::invalid_argument);
    }
    // Not the text around it: a view need not end with a NUL.
    CHECK(Id::parse(std::string_view("12345", 2)) == Id(12));
#if defined(__cpp_lib_format)
    CHECK(std::format("{} {:>5}", Id(12), Id(34)) == "12    34");
    std::puts("std::format: tested");
#endif
}

static void errors_tell() {
    // A lease that is shorter than its heartbeat and margin.
    const auto wrong = [] { return Options().set("store", "memory:cxx-wrong").set("lease_ttl_ms", 6000); };
    const Error error = thrown_by([&] { (void)IdGenerator::open(wrong()); });
    CHECK(error.code() == Code::invalid_argument && !error.retryable() && error.retry_after().count() == 0);
    CHECK(std::string_view(error.what()).find("INVALID_ARGUMENT: ") == 0);
    CHECK(std::string_view(error.name()) == "INVALID_ARGUMENT");
    const Error option = thrown_by([] { Options().set("heartbeat", 1); });
    CHECK(std::string_view(option.what()).find("heartbeat_interval_ms") != std::string_view::npos);
    const IdGenerator one = IdGenerator::open(Options().set("store", "memory:cxx-full").set("layout", "43-0-0-20"));
    const Error full = thrown_by([] {
        (void)IdGenerator::open(Options()
                                    .set("store", "memory:cxx-full")
                                    .set("layout", "43-0-0-20")
                                    .set("slot", 1)
                                    .set("acquire_timeout_ms", 2000));
    });
    CHECK(full.code() == Code::no_worker_id && full.retryable() && full.retry_after().count() > 0);
    IdGenerator none;
    CHECK(IdGenerator::open(wrong(), none) == Code::invalid_argument && !none);
    // Without a generator: an error like any other.
    Id id(7);
    CHECK(none.next_id(id) == Code::invalid_argument && id == Id(7));
    CHECK(thrown_by([&] { (void)none.next_id(); }).code() == Code::invalid_argument);
    CHECK(thrown_by([&] { (void)none.status(); }).code() == Code::invalid_argument);
    none.close();
}

static void any_contiguous_range() {
    const IdGenerator ids = open_memory("memory:cxx-ranges");
    std::vector<Id> vector(5000);
    std::array<std::int64_t, 100> array{};
    Id plain[10];
    std::vector<long long> longs(10);
    ids.fill(vector);
    ids.fill(array);
    ids.fill(plain);
    ids.fill(longs);
    CHECK(std::is_sorted(vector.begin(), vector.end()) && std::adjacent_find(vector.begin(), vector.end()) == vector.end());
    CHECK(vector.back() < Id(array[0]) && Id(array[99]) < plain[0] && plain[9] < Id(longs[0]));
    ids.next_batch_into(plain);
    CHECK(plain[9].value() == plain[0].value() + 9);
    const std::vector<Id> batch = ids.next_batch(1000);
    CHECK(batch.size() == 1000 && batch.back().value() == batch.front().value() + 999);
    for (std::size_t count : {std::size_t(0), std::size_t(1001), ~std::size_t(0)})
        CHECK(thrown_by([&] { (void)ids.next_batch(count); }).code() == Code::invalid_argument);
    std::size_t written = 9;
    CHECK(ids.fill(array, written) == Code::ok && written == 100);
    std::vector<Id> empty;
    ids.fill(empty);
#if __cplusplus >= 202002L
    ids.fill(std::span<Id>(vector).subspan(10, 5));
    CHECK(vector[14] > vector[15]);
#endif
    ids.close();
    CHECK(ids.fill(array, written) == Code::closed && written == 0);
    CHECK(thrown_by([&] { ids.fill(array); }).code() == Code::closed);
}

static void handles_move() {
    IdGenerator first = open_memory("memory:cxx-move");
    const Id before = first.next_id();
    IdGenerator second = std::move(first);
    CHECK(second && second.next_id() > before);
    CHECK(!first); // NOLINT: what is left is said in the header
    first = open_memory("memory:cxx-move");
    CHECK(first.status().worker_id == second.status().worker_id);
    second = std::move(first);
    leaseflake_generator_t *raw = second.release();
    CHECK(!second && raw != nullptr);
    const IdGenerator third(raw);
    CHECK(third.next_id() > before);
}

static void fields_and_status() {
    const IdGenerator ids = IdGenerator::open(Options().set("store", "memory:cxx-status").set("datacenter_id", 3));
    const Id id = ids.next_id();
    const leaseflake::IdParts parts = ids.decode(id);
    CHECK(parts.datacenter_id == 3 && parts.timestamp_ms > 1767225600000);
    CHECK(leaseflake::decode(id).sequence == parts.sequence);
    CHECK(thrown_by([] { (void)leaseflake::decode(Id()); }).code() == Code::invalid_argument);
    CHECK(ids.layout().sequence_bits == 12);
    const leaseflake::Status status = ids.status();
    CHECK(status.state == LEASEFLAKE_STATE_ACTIVE && status.datacenter_id == 3 && status.issued >= 1);
    CHECK(ids.state_changes().size() == 1 && ids.state_changes()[0].to_state == LEASEFLAKE_STATE_ACTIVE);
    Id taken;
    Code code;
    while ((code = ids.try_next_id(taken)) == Code::sequence_exhausted) {
    }
    CHECK(code == Code::ok && taken > id);
}

static void listener_hears_and_what_it_throws_is_dropped() {
    std::atomic<int> closed{0};
    auto kept = std::make_shared<int>(1);
    std::weak_ptr<int> watch = kept;
    {
        const IdGenerator ids = open_memory("memory:cxx-listener");
        ids.on_state_change([&closed, kept = std::move(kept)](const leaseflake::StateChange &change) {
            if (change.to_state == LEASEFLAKE_STATE_CLOSED) ++closed;
            throw std::runtime_error("dropped");
        });
        CHECK(!watch.expired());
    }
    CHECK(closed == 1 && watch.expired());
    const IdGenerator ids = open_memory("memory:cxx-listener");
    ids.on_state_change([&closed](const leaseflake::StateChange &) { ++closed; });
    ids.on_state_change(nullptr);
    ids.close();
    CHECK(thrown_by([&] { ids.on_state_change([](const leaseflake::StateChange &) {}); }).code() == Code::closed);
    CHECK(closed == 1);
}

static void threads_share() {
    const IdGenerator ids = open_memory("memory:cxx-threads");
    std::vector<std::vector<Id>> all(8, std::vector<Id>(20000));
    std::vector<std::thread> threads;
    for (auto &mine : all)
        threads.emplace_back([&ids, &mine] {
            for (Id &id : mine)
                while (ids.next_id(id) != Code::ok) {
                }
        });
    for (auto &thread : threads) thread.join();
    std::unordered_set<Id> seen;
    for (const auto &mine : all) seen.insert(mine.begin(), mine.end());
    CHECK(seen.size() == 8 * 20000);
}

int main() {
    ids_are_values();
    errors_tell();
    any_contiguous_range();
    handles_move();
    fields_and_status();
    listener_hears_and_what_it_throws_is_dropped();
    threads_share();
    return 0;
}
