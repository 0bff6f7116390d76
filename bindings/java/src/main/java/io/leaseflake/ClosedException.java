package io.leaseflake;

import java.time.Duration;

/**
 * The generator is closed: {@link ErrorCode#CLOSED}.
 */
public final class ClosedException extends LeaseflakeException {
    private static final long serialVersionUID = 1L;

    ClosedException(ErrorCode code, String message, Duration retryAfter) {
        super(code, message, retryAfter);
    }
}
