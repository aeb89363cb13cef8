import { createTables, migration } from "./migration.js"

const made = { table: "event_head", column: "history" }

const head = (history: string, table = "event_head") =>
  `INSERT INTO ${table} (name, sequence, history) VALUES ('events', 0, ${history})`

/** The tables for MySQL and MariaDB; see createTables. InnoDB appends the primary key to each index. */
const serverTables = [
  `CREATE TABLE authwire_new_events (
    id BIGINT NOT NULL AUTO_INCREMENT,
    sequence BIGINT NULL,
    tenant VARBINARY(63) NOT NULL,
    kind VARBINARY(32) NOT NULL,
    user_id VARBINARY(255) NULL,
    session_id VARBINARY(32) NULL,
    provider VARBINARY(255) NULL,
    created DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    INDEX events_sequence (sequence),
    INDEX events_tenant (tenant, sequence)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  `CREATE TABLE authwire_new_event_head (
    name VARBINARY(63) NOT NULL,
    sequence BIGINT NOT NULL,
    history VARBINARY(32) NOT NULL,
    PRIMARY KEY (name)
  ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  head("HEX(RANDOM_BYTES(16))", "authwire_new_event_head"),
]

/**
 * Adds the tables of events, for clients that watch writes. The row of an event is committed together with the write
 * that it records, without a `sequence`. A reader of events assigns sequences to the committed events, while it has
 * locked the row of `event_head`: see events.ts.
 *
 * `event_head` has the last sequence, and a random id by which a cursor recognizes its database. The index of sequences
 * finds the events without one, the next events of all tenants, and the oldest events, which are cleaned up.
 */
export const events = migration({
  name: "0009-events",
  previousVersion: {
    compatible: true,
    reason: "it adds tables that the previous version does not know; the writes of that version add no events",
  },
  makes: made,
  server: (runner) => createTables(runner, { tables: ["events", "event_head"], makes: made, statements: serverTables }),
  sqlite: [
    `CREATE TABLE "events" (
      "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
      "sequence" integer,
      "tenant" text NOT NULL,
      "kind" text NOT NULL,
      "user_id" text,
      "session_id" text,
      "provider" text,
      "created" datetime NOT NULL
    )`,
    `CREATE INDEX "events_sequence" ON "events" ("sequence", "id")`,
    `CREATE INDEX "events_tenant" ON "events" ("tenant", "sequence")`,
    `CREATE TABLE "event_head" ("name" text PRIMARY KEY NOT NULL, "sequence" integer NOT NULL, "history" text NOT NULL)`,
    head("hex(randomblob(16))"),
  ],
  postgres: [
    `CREATE TABLE events (
      id bigserial PRIMARY KEY,
      sequence int8,
      tenant text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      user_id text COLLATE "C",
      session_id text COLLATE "C",
      provider text COLLATE "C",
      created timestamptz(3) NOT NULL
    )`,
    "CREATE INDEX events_sequence ON events (sequence, id)",
    "CREATE INDEX events_tenant ON events (tenant, sequence)",
    `CREATE TABLE event_head (
      name text COLLATE "C" PRIMARY KEY,
      sequence int8 NOT NULL,
      history text COLLATE "C" NOT NULL
    )`,
    head("upper(replace(gen_random_uuid()::text, '-', ''))"),
  ],
  down: {
    server: "DROP TABLE IF EXISTS events, event_head",
    sqlite: [`DROP TABLE "events"`, `DROP TABLE "event_head"`],
    postgres: ["DROP TABLE events", "DROP TABLE event_head"],
  },
})
