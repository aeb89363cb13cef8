import { migration } from "./migration.js"

/**
 * Authenticators, each named by its credential id, as bytes: it is Base64, where upper and lower case differ, and
 * whoever could register an id that is found equal to another's could sign in as the other.
 *
 * WebAuthn's signature counter is an unsigned integer of 32 bits.
 */
export const authenticators = migration({
  name: "0005-authenticators",
  server: `
    CREATE TABLE authenticators (
      credential_id VARBINARY(1400) NOT NULL,
      user_id VARBINARY(255) NOT NULL,
      provider_account_id VARBINARY(1400) NOT NULL,
      credential_public_key TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      counter INT UNSIGNED NOT NULL,
      credential_device_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      credential_backed_up TINYINT(1) NOT NULL,
      transports TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
      extra MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
      PRIMARY KEY (credential_id),
      INDEX authenticators_user_id (user_id),
      CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
        ON DELETE NO ACTION ON UPDATE NO ACTION
    ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
  sqlite: [
    `CREATE TABLE "authenticators" (
      "credential_id" text PRIMARY KEY NOT NULL,
      "user_id" text NOT NULL,
      "provider_account_id" text NOT NULL,
      "credential_public_key" text NOT NULL,
      "counter" integer NOT NULL,
      "credential_device_type" text NOT NULL,
      "credential_backed_up" boolean NOT NULL,
      "transports" text,
      "extra" text NOT NULL,
      CONSTRAINT "authenticators_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users" ("id")
        ON DELETE NO ACTION ON UPDATE NO ACTION
    )`,
    `CREATE INDEX "authenticators_user_id" ON "authenticators" ("user_id")`,
  ],
  down: "DROP TABLE authenticators",
})
