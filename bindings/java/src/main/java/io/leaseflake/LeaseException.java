package io.leaseflake;

import java.time.Duration;

/**
 * There is no lease to make IDs under just now: {@link ErrorCode#NO_WORKER_ID}, {@link ErrorCode#LEASE_SUSPENDED},
 * {@link ErrorCode#LEASE_LOST}. A retry may help.
 */
public final class LeaseException extends LeaseflakeException {
    private static final long serialVersionUID = 1L;

    LeaseException(ErrorCode code, String message, Duration retryAfter) {
        super(code, message, retryAfter);
    }
}
