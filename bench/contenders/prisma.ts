import { PrismaAdapter } from "@auth/prisma-adapter"
import { PrismaMariaDb } from "@prisma/adapter-mariadb"
import { PrismaClient } from "@prisma/client"
import { type Contender, type Endpoints, poolSize, required } from "./contender.ts"

/** As https://authjs.dev/getting-started/adapters/prisma has it, with the driver that Prisma 7 has for MySQL. */
export function prismaAdapter({ databaseUrl }: Endpoints): Contender {
  const { hostname, port, username, password, pathname } = new URL(required(databaseUrl))
  const adapter = new PrismaMariaDb({
    host: hostname,
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    connectionLimit: poolSize,
    // Or it cannot sign in to MySQL 8.4+ without TLS.
    allowPublicKeyRetrieval: true,
  })
  const prisma = new PrismaClient({ adapter })
  return { adapter: PrismaAdapter(prisma), close: () => prisma.$disconnect() }
}
