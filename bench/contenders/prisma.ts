import { PrismaAdapter } from "@auth/prisma-adapter"
import { PrismaMariaDb } from "@prisma/adapter-mariadb"
import { PrismaClient } from "@prisma/client"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** Set up as in https://authjs.dev/getting-started/adapters/prisma, with the driver of Prisma 7 for MySQL. */
export function prismaAdapter({ databaseUrl }: Endpoints): Contender {
  const { hostname, port, username, password, pathname } = new URL(required(databaseUrl))
  const adapter = new PrismaMariaDb({
    host: hostname,
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    connectionLimit: poolSize,
    // Without it, the driver cannot authenticate to MySQL 8.4+ without TLS.
    allowPublicKeyRetrieval: true,
  })
  const prisma = new PrismaClient({ adapter })
  return { adapter: PrismaAdapter(prisma), close: () => prisma.$disconnect() }
}
