import { BinaryWriter } from "@bufbuild/protobuf/wire"
import { Client, credentials } from "@grpc/grpc-js"

/** Decides which shards of a keyspace serve, as the last step of a reshard does. */
export interface Vtctld {
  /** Makes shards serve in place of others. */
  switchShards(from: readonly string[], to: readonly string[]): Promise<void>
  close(): void
}

/** @param address HOST:PORT of a vtctld, or of a vtcombo with `--service-map grpc-vtctld`. */
export function openVtctld(address: string, keyspace: string): Vtctld {
  const client = new Client(address, credentials.createInsecure())
  /** A message of vtctldata.proto begins with the keyspace. */
  const message = () => new BinaryWriter().uint32(10).string(keyspace)
  const call = (method: string, request: BinaryWriter) =>
    new Promise<void>((resolve, reject) => {
      const [bytes, ends] = [request.finish(), (error: Error | null) => (error ? reject(error) : resolve())]
      client.makeUnaryRequest(`/vtctlservice.Vtctld/${method}`, Buffer.from, Buffer.from, bytes, ends)
    })
  const setServing = (shard: string, serves: boolean) =>
    call("SetShardIsPrimaryServing", message().uint32(18).string(shard).uint32(24).bool(serves))
  return {
    async switchShards(from, to) {
      for (const shard of from) await setServing(shard, false)
      for (const shard of to) await setServing(shard, true)
      await call("RebuildKeyspaceGraph", message())
    },
    close: () => client.close(),
  }
}
