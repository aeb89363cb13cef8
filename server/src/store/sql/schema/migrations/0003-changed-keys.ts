import { migration } from "./migration.js"

const sqliteNow = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
const setTime = `BEGIN UPDATE api_keys SET changed = ${sqliteNow} WHERE id = NEW.id; END`

/**
 * Adds when each API key was last changed, by the clock of the database, so that processes read only the keys that have
 * changed. The database itself sets it, because keys are also changed by the previous version and by hand.
 *
 * SQLite adds no column whose default is an expression.
 */
export const changedKeys = migration({
  name: "0003-changed-keys",
  previousVersion: { compatible: true, reason: "it does not use the new column, and the database sets it" },
  makes: { table: "api_keys", column: "changed" },
  server:
    "ALTER TABLE api_keys ADD COLUMN changed datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)" +
    " ON UPDATE CURRENT_TIMESTAMP(3), ADD INDEX api_keys_changed (changed, id)",
  sqlite: [
    "ALTER TABLE api_keys ADD COLUMN changed datetime NOT NULL DEFAULT '1000-01-01 00:00:00.000'",
    "CREATE INDEX api_keys_changed ON api_keys (changed, id)",
    `CREATE TRIGGER api_keys_inserted AFTER INSERT ON api_keys ${setTime}`,
    `CREATE TRIGGER api_keys_updated AFTER UPDATE ON api_keys WHEN NEW.changed IS OLD.changed ${setTime}`,
  ],
  postgres: [
    "ALTER TABLE api_keys ADD COLUMN changed timestamptz(3) NOT NULL DEFAULT now()",
    "CREATE INDEX api_keys_changed ON api_keys (changed, id)",
    "CREATE FUNCTION authwire_api_key_changed() RETURNS trigger LANGUAGE plpgsql AS" +
      " $$ BEGIN NEW.changed := clock_timestamp(); RETURN NEW; END $$",
    "CREATE TRIGGER api_keys_changed BEFORE INSERT OR UPDATE ON api_keys" +
      " FOR EACH ROW EXECUTE FUNCTION authwire_api_key_changed()",
  ],
  down: {
    server: "ALTER TABLE api_keys DROP INDEX api_keys_changed, DROP COLUMN changed",
    sqlite: [
      "DROP TRIGGER api_keys_inserted",
      "DROP TRIGGER api_keys_updated",
      "DROP INDEX api_keys_changed",
      "ALTER TABLE api_keys DROP COLUMN changed",
    ],
    postgres: [
      "DROP TRIGGER api_keys_changed ON api_keys",
      "DROP FUNCTION authwire_api_key_changed()",
      "ALTER TABLE api_keys DROP COLUMN changed",
    ],
  },
})
