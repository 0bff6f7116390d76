package io.leaseflake;

import java.time.Duration;
import java.util.Optional;

/**
 * Any failure of a call. A call that failed has issued nothing ({@link IdGenerator#fill} tells how much it
 * has), so trying again is always safe; {@link #isRetryable} says whether it helps.
 */
public class LeaseflakeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What went wrong. */
    private final ErrorCode code;
    /** When to try again, or {@code null}. */
    private final Duration retryAfter;
    /** How many IDs of a fill are valid. */
    private int written;

    LeaseflakeException(ErrorCode code, String message, Duration retryAfter) {
        super(message);
        this.code = code;
        this.retryAfter = retryAfter;
    }

    /** The exception of the class that belongs to a code. */
    static LeaseflakeException of(ErrorCode code, String message, Duration retryAfter) {
        switch (code) {
            case NO_WORKER_ID:
            case LEASE_SUSPENDED:
            case LEASE_LOST:
                return new LeaseException(code, message, retryAfter);
            case CLOCK_BACKWARDS:
            case CLOCK_UNTRUSTED:
            case TIMESTAMP_OUT_OF_RANGE:
                return new ClockException(code, message, retryAfter);
            case CLOSED:
                return new ClosedException(code, message, retryAfter);
            default:
                return new LeaseflakeException(code, message, retryAfter);
        }
    }

    LeaseflakeException written(int count) {
        written = count;
        return this;
    }

    /**
     * What went wrong, as a code that is the same in every language.
     *
     * @return the code
     */
    public ErrorCode getCode() {
        return code;
    }

    /**
     * Whether the same call may succeed later.
     *
     * @return whether a retry may help
     */
    public boolean isRetryable() {
        return code.isRetryable();
    }

    /**
     * How long to wait before a retry.
     *
     * @return the time, or nothing where a retry does not help
     */
    public Optional<Duration> getRetryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /**
     * How many IDs {@link IdGenerator#fill} had written before it failed: so many at the beginning of the
     * array are valid.
     *
     * @return the count; 0 for any other call
     */
    public int getWritten() {
        return written;
    }

    /** The class, the code and the message. */
    @Override
    public String toString() {
        return getClass().getName() + ": " + code + ": " + getMessage();
    }
}
