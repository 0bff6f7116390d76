/**
 * 64-bit, time-sorted, globally unique IDs made in your own process. Start at
 * {@link io.leaseflake.IdGenerator}.
 */
module io.leaseflake {
    exports io.leaseflake;
}
