package io.leaseflake;

import cn.hutool.core.lang.Snowflake;
import com.github.f4b6a3.tsid.Tsid;
import com.github.f4b6a3.tsid.TsidCreator;
import com.github.yitter.contract.IdGeneratorOptions;
import com.github.yitter.idgen.YitIdHelper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;

/** Other libraries of 64-bit IDs, as their own documents say to use them. */
final class Peers {
    /** How IDs are made, and which millisecond one claims to be of. */
    static final class Peer {
        final LongSupplier next;
        final LongUnaryOperator timestampMs;

        Peer(LongSupplier next, LongUnaryOperator timestampMs) {
            this.next = next;
            this.timestampMs = timestampMs;
        }
    }

    private Peers() {}

    static Peer tsid() {
        return new Peer(() -> TsidCreator.getTsid1024().toLong(), id -> Tsid.from(id).getUnixMilliseconds());
    }

    static Peer hutool() {
        Snowflake snowflake = new Snowflake(1, 1);
        return new Peer(snowflake::nextId, snowflake::getGenerateDateTime);
    }

    static Peer cosid() {
        MillisecondSnowflakeId cosid = new MillisecondSnowflakeId(1);
        int shift = cosid.getMachineBit() + cosid.getSequenceBit();
        return new Peer(cosid::generate, id -> (id >> shift) + cosid.getEpoch());
    }

    static Peer yitter() {
        IdGeneratorOptions options = new IdGeneratorOptions((short) 1);
        long base = options.BaseTime;
        int shift = options.WorkerIdBitLength + options.SeqBitLength;
        YitIdHelper.setIdGenerator(options);
        return new Peer(YitIdHelper::nextId, id -> (id >> shift) + base);
    }

    static Map<String, Peer> all() {
        Map<String, Peer> peers = new LinkedHashMap<>();
        peers.put("CosId MillisecondSnowflakeId.generate()", cosid());
        peers.put("tsid-creator getTsid1024()", tsid());
        peers.put("Hutool Snowflake.nextId()", hutool());
        peers.put("yitter YitIdHelper.nextId()", yitter());
        return peers;
    }
}
