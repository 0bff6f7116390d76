// IDs over gRPC, with retries: node client.mjs TARGET COUNT FILE
//
// TARGET is one or several addresses, such as ipv4:127.0.0.1:50051,127.0.0.1:50061 or dns:///ids.internal:50051.
// Writes COUNT IDs to FILE, one a line: one by one and in batches in turn.

import { openSync, readFileSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import grpc from '@grpc/grpc-js'
import protoLoader from '@grpc/proto-loader'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const folder = here('../../../server/proto')
// As strings: JavaScript rounds numbers above 2^53.
const loaded = protoLoader.loadSync('hispeeddesign/idgen/v1/id_generator.proto', {
  includeDirs: [folder],
  keepCase: true,
  longs: String,
})
const { IdGeneratorService } = grpc.loadPackageDefinition(loaded).hispeeddesign.idgen.v1
const batchSize = 20

const [target, count, path] = [process.argv[2], Number(process.argv[3]), process.argv[4]]
const client = new IdGeneratorService(target, grpc.credentials.createInsecure(), {
  // A call that was not answered may be made anew: no ID is given twice.
  'grpc.service_config': readFileSync(here('../service-config.json'), 'utf8'),
  // A server that is stopped breaks no connection; a ping finds it out.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
})

function call(method, request) {
  const deadline = Date.now() + 5_000
  const metadata = new grpc.Metadata({ waitForReady: true })
  return new Promise((resolve, reject) => {
    client[method](request, metadata, { deadline }, (error, answer) => (error ? reject(error) : resolve(answer)))
  })
}

const file = openSync(path, 'w')
for (let left = count; left > 0;) {
  const { id_str } = await call('GenerateId', { caller_service: 'example-node' })
  writeSync(file, `${id_str}\n`)
  left -= 1
  const size = Math.min(left, batchSize)
  if (size > 0) {
    const { ids_str } = await call('GenerateIdBatch', { count: size, caller_service: 'example-node' })
    writeSync(file, ids_str.map((id) => `${id}\n`).join(''))
    left -= size
  }
}
client.close()
