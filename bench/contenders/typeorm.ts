import { getManager, TypeORMAdapter } from "@auth/typeorm-adapter"
import type { DataSourceOptions } from "typeorm"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** Set up as in https://authjs.dev/getting-started/adapters/typeorm, without `synchronize`, on mysql2. */
export function typeormAdapter({ databaseUrl }: Endpoints): Contender {
  const dataSource: DataSourceOptions = { type: "mysql", url: required(databaseUrl), poolSize, synchronize: false }
  const adapter = TypeORMAdapter(dataSource)
  return {
    adapter,
    async close() {
      const manager = await getManager({ dataSource, entities: {} as never })
      await manager.connection.destroy()
    },
  }
}
