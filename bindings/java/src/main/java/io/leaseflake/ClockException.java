package io.leaseflake;

import java.time.Duration;

/**
 * The clock does not allow an ID: {@link ErrorCode#CLOCK_BACKWARDS}, {@link ErrorCode#CLOCK_UNTRUSTED} (a retry may
 * help), {@link ErrorCode#TIMESTAMP_OUT_OF_RANGE} (it does not).
 */
public final class ClockException extends LeaseflakeException {
    private static final long serialVersionUID = 1L;

    ClockException(ErrorCode code, String message, Duration retryAfter) {
        super(code, message, retryAfter);
    }
}
