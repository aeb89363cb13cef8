/** The tables of migration 0001 for PostgreSQL. */
export const postgresTables = [
  `CREATE TABLE users (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    email varchar(320) COLLATE "C",
    email_key text COLLATE "C",
    email_verified timestamptz(3),
    name text COLLATE "C",
    image text COLLATE "C",
    extra text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
  )`,
  "CREATE UNIQUE INDEX users_email_key ON users (tenant, email_key)",
  `CREATE TABLE accounts (
    tenant text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    provider_account_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    type varchar(32) COLLATE "C" NOT NULL,
    access_token text COLLATE "C",
    token_type varchar(255) COLLATE "C",
    id_token text COLLATE "C",
    refresh_token text COLLATE "C",
    scope text COLLATE "C",
    expires_in double precision,
    expires_at double precision,
    authorization_details text COLLATE "C",
    extra text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, provider, provider_account_id),
    CONSTRAINT accounts_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
  )`,
  "CREATE INDEX accounts_user_id ON accounts (tenant, user_id, provider, provider_account_id)",
  `CREATE TABLE sessions (
    tenant text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    expires timestamptz(3) NOT NULL,
    extra text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, token_hash),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
  )`,
  "CREATE INDEX sessions_user_id ON sessions (tenant, user_id)",
  "CREATE INDEX sessions_expires ON sessions (expires)",
  `CREATE TABLE verification_tokens (
    tenant text COLLATE "C" NOT NULL,
    identifier text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL,
    expires timestamptz(3) NOT NULL,
    PRIMARY KEY (tenant, identifier, token_hash)
  )`,
  `CREATE TABLE authenticators (
    tenant text COLLATE "C" NOT NULL,
    credential_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    provider_account_id text COLLATE "C" NOT NULL,
    credential_public_key text COLLATE "C" NOT NULL,
    counter bigint NOT NULL,
    credential_device_type varchar(64) COLLATE "C" NOT NULL,
    credential_backed_up boolean NOT NULL,
    transports text COLLATE "C",
    extra text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, credential_id),
    CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (tenant, user_id) REFERENCES users (tenant, id)
  )`,
  "CREATE INDEX authenticators_user_id ON authenticators (tenant, user_id)",
  `CREATE TABLE tenants (
    name text COLLATE "C" PRIMARY KEY,
    created timestamptz(3) NOT NULL
  )`,
  "INSERT INTO tenants (name, created) VALUES ('default', now())",
  `CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    name varchar(255) COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    scopes text COLLATE "C" NOT NULL,
    secret_hash bytea,
    certificate_name text COLLATE "C",
    created timestamptz(3) NOT NULL,
    expires timestamptz(3),
    revoked timestamptz(3),
    CONSTRAINT api_keys_tenant_fkey FOREIGN KEY (tenant) REFERENCES tenants (name)
  )`,
  "CREATE INDEX api_keys_tenant ON api_keys (tenant)",
]
