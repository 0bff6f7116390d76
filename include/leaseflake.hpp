/*
 * Leaseflake for C++17 and later: a thin, header-only layer over leaseflake.h.
 *
 *     auto ids = leaseflake::IdGenerator::open(leaseflake::Options().set("store", "sqlite:ids.db"));
 *     leaseflake::Id id = ids.next_id();
 *
 * Calls throw leaseflake::Error; next_id, try_next_id, fill and Id::parse also have a form that gives a leaseflake::Code
 * and never throws. All `const` member functions of IdGenerator may be called by any number of threads at once.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef LEASEFLAKE_HPP
#define LEASEFLAKE_HPP

#if !defined(__cplusplus) || (__cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L))
#error "leaseflake.hpp needs C++17; leaseflake.h serves older compilers"
#endif

#include "leaseflake.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_format)
#include <format>
#endif

namespace leaseflake {

/* What a call gives. Numbers are frozen; a later library may give others. */
enum class Code : leaseflake_code_t {
    ok = LEASEFLAKE_OK,
    invalid_argument = LEASEFLAKE_INVALID_ARGUMENT,
    store_unavailable = LEASEFLAKE_STORE_UNAVAILABLE,
    store_rejected = LEASEFLAKE_STORE_REJECTED,
    layout_mismatch = LEASEFLAKE_LAYOUT_MISMATCH,
    no_worker_id = LEASEFLAKE_NO_WORKER_ID,
    lease_suspended = LEASEFLAKE_LEASE_SUSPENDED,
    lease_lost = LEASEFLAKE_LEASE_LOST,
    clock_backwards = LEASEFLAKE_CLOCK_BACKWARDS,
    clock_untrusted = LEASEFLAKE_CLOCK_UNTRUSTED,
    timestamp_out_of_range = LEASEFLAKE_TIMESTAMP_OUT_OF_RANGE,
    sequence_exhausted = LEASEFLAKE_SEQUENCE_EXHAUSTED,
    closed = LEASEFLAKE_CLOSED,
    internal = LEASEFLAKE_INTERNAL
};

/* The stable name of a code, such as "LEASE_SUSPENDED". */
[[nodiscard]] inline const char *name(Code code) noexcept {
    return leaseflake_code_name(static_cast<leaseflake_code_t>(code));
}

/* Whether the same call may succeed later. */
[[nodiscard]] inline bool retryable(Code code) noexcept {
    return leaseflake_code_retryable(static_cast<leaseflake_code_t>(code));
}

/* Why a call failed: what() says what happened, to which worker ID or table, and what to do. */
class Error : public std::runtime_error {
public:
    explicit Error(const leaseflake_error_t &error)
        : std::runtime_error(std::string(leaseflake_code_name(error.code)) + ": " + error.message),
          code_(static_cast<Code>(error.code)), retryable_(error.retryable != 0),
          retry_after_(error.retry_after_ms) {}

    [[nodiscard]] Code code() const noexcept { return code_; }
    /* The stable name of the code. */
    [[nodiscard]] const char *name() const noexcept { return leaseflake::name(code_); }
    /* Whether the same call may succeed later. */
    [[nodiscard]] bool retryable() const noexcept { return retryable_; }
    /* How long to wait before a retry; zero where a retry does not help. */
    [[nodiscard]] std::chrono::milliseconds retry_after() const noexcept { return retry_after_; }

private:
    Code code_;
    bool retryable_;
    std::chrono::milliseconds retry_after_;
};

/* An ID: ordered by the time of its making, hashable, written as decimal digits. Id() is 0: no ID. */
class Id {
public:
    constexpr Id() noexcept = default;
    /* The ID with this number, which is not looked at. */
    constexpr explicit Id(std::int64_t value) noexcept : value_(value) {}

    /* Reads 1 to 19 decimal digits: no sign, no blanks, no leading zero. Throws Error. */
    [[nodiscard]] static Id parse(std::string_view digits);
    /* The same; `id` is written only on success. */
    [[nodiscard]] static Code parse(std::string_view digits, Id &id) noexcept;

    [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return value_ > 0; }

    friend constexpr bool operator==(Id a, Id b) noexcept { return a.value_ == b.value_; }
    friend constexpr bool operator!=(Id a, Id b) noexcept { return a.value_ != b.value_; }
    friend constexpr bool operator<(Id a, Id b) noexcept { return a.value_ < b.value_; }
    friend constexpr bool operator>(Id a, Id b) noexcept { return a.value_ > b.value_; }
    friend constexpr bool operator<=(Id a, Id b) noexcept { return a.value_ <= b.value_; }
    friend constexpr bool operator>=(Id a, Id b) noexcept { return a.value_ >= b.value_; }
    friend std::ostream &operator<<(std::ostream &out, Id id) { return out << id.value_; }

private:
    std::int64_t value_ = 0;
};

/* Arrays of Id are filled as arrays of numbers. */
static_assert(sizeof(Id) == sizeof(std::int64_t) && alignof(Id) == alignof(std::int64_t), "Id is a number");
static_assert(std::is_standard_layout_v<Id> && std::is_trivially_copyable_v<Id>, "Id is a number");

/* The decimal digits of an ID. */
[[nodiscard]] inline std::string to_string(Id id) { return std::to_string(id.value()); }

using Layout = leaseflake_layout_t;
using IdParts = leaseflake_id_parts_t;
using Status = leaseflake_status_t;
using StateChange = leaseflake_state_change_t;

namespace detail {

inline void check(leaseflake_code_t code, const leaseflake_error_t &error) {
    if (code == LEASEFLAKE_OK) return;
    /* An error object that was refused itself carries no code; ours never is. */
    throw Error(error);
}

template <typename T>
inline constexpr bool is_id_number = std::is_same_v<T, Id> || std::is_same_v<T, std::int64_t> ||
                                     (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8);

template <typename Range> std::int64_t *numbers(Range &range) noexcept {
    using Element = std::remove_reference_t<decltype(*std::data(range))>;
    static_assert(is_id_number<Element>, "a contiguous range of leaseflake::Id or of signed 64-bit integers");
    return reinterpret_cast<std::int64_t *>(std::data(range));
}

extern "C" {
inline void leaseflake_cxx_call(void *user_data, const leaseflake_state_change_t *change) {
    try {
        (*static_cast<std::function<void(const StateChange &)> *>(user_data))(*change);
    } catch (...) { /* Nothing may cross into the library; the next change is told all the same. */
    }
}
inline void leaseflake_cxx_free(void *user_data) {
    delete static_cast<std::function<void(const StateChange &)> *>(user_data);
}
}

} /* namespace detail */

inline Code Id::parse(std::string_view digits, Id &id) noexcept {
    char text[LEASEFLAKE_ID_TEXT_SIZE] = {0};
    if (digits.size() >= sizeof text) return Code::invalid_argument;
    /* A NUL inside would hide what follows it. */
    for (std::size_t at = 0; at < digits.size(); ++at) text[at] = digits[at] == '\0' ? ' ' : digits[at];
    std::int64_t value = 0;
    const leaseflake_code_t code = leaseflake_parse_id(text, &value, nullptr);
    if (code == LEASEFLAKE_OK) id = Id(value);
    return static_cast<Code>(code);
}

inline Id Id::parse(std::string_view digits) {
    std::string text(digits.substr(0, LEASEFLAKE_ID_TEXT_SIZE));
    for (char &digit : text) {
        if (digit == '\0') digit = ' ';
    }
    std::int64_t value = 0;
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    detail::check(leaseflake_parse_id(text.c_str(), &value, &error), error);
    return Id(value);
}

/* The fields of an ID by the default layout; IdGenerator::decode() goes by the generator's. Throws Error. */
[[nodiscard]] inline IdParts decode(Id id) {
    IdParts parts{};
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    detail::check(leaseflake_decode_id(nullptr, id.value(), &parts, &error), error);
    return parts;
}

/* The fields of an ID by a layout. Throws Error. */
[[nodiscard]] inline IdParts decode(const Layout &layout, Id id) {
    IdParts parts{};
    leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
    detail::check(leaseflake_decode_id(&layout, id.value(), &parts, &error), error);
    return parts;
}

/* Options by name; what is left out comes from LEASEFLAKE_<NAME>. One thread at a time. */
class Options {
public:
    Options() : options_(leaseflake_options_new()) {
        if (!options_) throw std::bad_alloc();
    }

    /* Sets one option. Throws Error. */
    Options &set(const std::string &name, const std::string &value) & {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_options_set(options_.get(), name.c_str(), value.c_str(), &error), error);
        return *this;
    }
    Options &set(const std::string &name, const char *value) & { return set(name, std::string(value)); }
    /* Sets one option that is a number. */
    template <typename Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
    Options &set(const std::string &name, Number value) & {
        return set(name, std::to_string(value));
    }
    /* The same on a temporary, for chains. */
    template <typename Value> Options &&set(const std::string &name, Value &&value) && {
        set(name, std::forward<Value>(value));
        return std::move(*this);
    }

    [[nodiscard]] const leaseflake_options_t *get() const noexcept { return options_.get(); }

private:
    struct Free {
        void operator()(leaseflake_options_t *options) const noexcept { leaseflake_options_free(options); }
    };
    std::unique_ptr<leaseflake_options_t, Free> options_;
};

/*
 * A handle on a generator: move-only, the size of a pointer; its end closes it. A default-made or
 * moved-from one has no generator, and its calls give INVALID_ARGUMENT.
 */
class [[nodiscard]] IdGenerator {
public:
    IdGenerator() noexcept = default;

    /* Opens a generator by the environment alone. Waits for a worker ID. Throws Error. */
    [[nodiscard]] static IdGenerator open() { return opened(nullptr); }
    /* Opens a generator. Waits for a worker ID, for at most "acquire_timeout_ms". Throws Error. */
    [[nodiscard]] static IdGenerator open(const Options &options) { return opened(options.get()); }
    /* The same without throwing; `generator` is written only on success. */
    [[nodiscard]] static Code open(const Options &options, IdGenerator &generator,
                                   leaseflake_error_t *error = nullptr) noexcept {
        leaseflake_generator_t *raw = nullptr;
        const leaseflake_code_t code = leaseflake_open(options.get(), &raw, error);
        if (code == LEASEFLAKE_OK) generator = IdGenerator(raw);
        return static_cast<Code>(code);
    }

    /* Takes over a handle of leaseflake_open(). */
    explicit IdGenerator(leaseflake_generator_t *raw) noexcept : generator_(raw) {}

    /* The next ID, greater than all before. Waits for the clock for at most "max_wait_ms". Throws Error. */
    [[nodiscard]] Id next_id() const {
        std::int64_t id = 0;
        const leaseflake_code_t code = leaseflake_next_id(get(), &id);
        if (code != LEASEFLAKE_OK) fail(code);
        return Id(id);
    }
    /* The same without throwing; `id` is written only on success. */
    [[nodiscard]] Code next_id(Id &id) const noexcept {
        return static_cast<Code>(leaseflake_next_id(get(), reinterpret_cast<std::int64_t *>(&id)));
    }

    /* The next ID if there is one without waiting. Throws Error. */
    [[nodiscard]] Id try_next_id() const {
        std::int64_t id = 0;
        const leaseflake_code_t code = leaseflake_try_next_id(get(), &id);
        if (code != LEASEFLAKE_OK) fail(code);
        return Id(id);
    }
    /* The same without throwing; `id` is written only on success. */
    [[nodiscard]] Code try_next_id(Id &id) const noexcept {
        return static_cast<Code>(leaseflake_try_next_id(get(), reinterpret_cast<std::int64_t *>(&id)));
    }

    /* `count` IDs of one millisecond (1 to 1000): all or nothing. Throws Error. */
    [[nodiscard]] std::vector<Id> next_batch(std::size_t count) const {
        /* Refused by the library, without the memory. */
        std::vector<Id> ids(count <= largest_batch ? count : 1);
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_next_batch(get(), detail::numbers(ids), count, &error), error);
        return ids;
    }
    /* A batch into a contiguous range, whose size is the count. Throws Error; then nothing is written. */
    template <typename Range> void next_batch_into(Range &&range) const {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_next_batch(get(), detail::numbers(range), std::size(range), &error), error);
    }

    /*
     * Fills a contiguous range of Id or signed 64-bit integers (array, vector, span) of any length. Not atomic: when
     * it throws Error, the IDs before were written; use the form below to know how many.
     */
    template <typename Range> void fill(Range &&range) const {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_fill(get(), detail::numbers(range), std::size(range), nullptr, &error), error);
    }
    /* The same without throwing; the first `written` elements are valid IDs, whatever it gives. */
    template <typename Range>
    [[nodiscard]] Code fill(Range &&range, std::size_t &written, leaseflake_error_t *error = nullptr) const noexcept {
        written = 0;
        return static_cast<Code>(
            leaseflake_fill(get(), detail::numbers(range), std::size(range), &written, error));
    }

    /* The fields of an ID by this generator's layout. Throws Error. */
    [[nodiscard]] IdParts decode(Id id) const { return leaseflake::decode(layout(), id); }

    /* The layout. Throws Error without a generator. */
    [[nodiscard]] Layout layout() const {
        Layout layout{};
        const leaseflake_code_t code = leaseflake_layout(get(), &layout);
        if (code != LEASEFLAKE_OK) fail(code);
        return layout;
    }

    /* A snapshot of the state. Throws Error without a generator. */
    [[nodiscard]] Status status() const {
        Status status = LEASEFLAKE_STATUS_INIT;
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_status(get(), &status, &error), error);
        return status;
    }

    /* The last 64 state changes, oldest first. Throws Error without a generator. */
    [[nodiscard]] std::vector<StateChange> state_changes() const {
        std::vector<StateChange> changes;
        StateChange change = LEASEFLAKE_STATE_CHANGE_INIT;
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        for (bool found = true; found;) {
            const std::uint64_t after = changes.empty() ? 0 : changes.back().number;
            detail::check(leaseflake_next_state_change(get(), after, &change, &found, &error), error);
            if (found) changes.push_back(change);
        }
        return changes;
    }

    /*
     * Has a function told of each state change from now on, on a thread of the library's. What it throws is
     * dropped. An empty function removes it. It is destroyed once nothing calls it any more. Throws Error.
     */
    void on_state_change(std::function<void(const StateChange &)> listener) const {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        if (!listener) {
            detail::check(leaseflake_set_state_callback(get(), nullptr, nullptr, nullptr, &error), error);
            return;
        }
        auto kept = std::make_unique<std::function<void(const StateChange &)>>(std::move(listener));
        detail::check(leaseflake_set_state_callback(get(), detail::leaseflake_cxx_call, kept.get(),
                                                    detail::leaseflake_cxx_free, &error),
                      error);
        static_cast<void>(kept.release());
    }

    /* Closes the handle: see leaseflake_close(). Any thread may call it, as often as it likes. */
    void close() const noexcept {
        if (generator_) leaseflake_close(get());
    }

    /* Whether there is a generator (open or closed). */
    [[nodiscard]] explicit operator bool() const noexcept { return generator_ != nullptr; }
    [[nodiscard]] leaseflake_generator_t *get() const noexcept { return generator_.get(); }
    /* Gives up the handle: leaseflake_free() is the caller's now. */
    [[nodiscard]] leaseflake_generator_t *release() noexcept { return generator_.release(); }

private:
    static constexpr std::size_t largest_batch = 1000;

    static IdGenerator opened(const leaseflake_options_t *options) {
        leaseflake_generator_t *raw = nullptr;
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        detail::check(leaseflake_open(options, &raw, &error), error);
        return IdGenerator(raw);
    }

    [[noreturn]] void fail(leaseflake_code_t code) const {
        leaseflake_error_t error = LEASEFLAKE_ERROR_INIT;
        /* Without a generator it says so itself, in the same place. */
        static_cast<void>(leaseflake_explain(get(), code, &error));
        throw Error(error);
    }

    struct Free {
        void operator()(leaseflake_generator_t *generator) const noexcept { leaseflake_free(generator); }
    };
    std::unique_ptr<leaseflake_generator_t, Free> generator_;
};

static_assert(sizeof(IdGenerator) == sizeof(void *), "a handle is a pointer");

} /* namespace leaseflake */

template <> struct std::hash<leaseflake::Id> {
    std::size_t operator()(leaseflake::Id id) const noexcept { return std::hash<std::int64_t>()(id.value()); }
};

#if defined(__cpp_lib_format)
/* As its number: std::format("{:>20}", id). */
template <> struct std::formatter<leaseflake::Id> : std::formatter<std::int64_t> {
    auto format(leaseflake::Id id, std::format_context &context) const {
        return std::formatter<std::int64_t>::format(id.value(), context);
    }
};
#endif

#endif /* LEASEFLAKE_HPP */
