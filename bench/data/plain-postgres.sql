-- The tables of @auth/drizzle-adapter's documentation for PostgreSQL.
CREATE TABLE "user" (
  id text PRIMARY KEY,
  name text,
  email text UNIQUE,
  "emailVerified" timestamp,
  image text
);
CREATE TABLE account (
  "userId" text NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
  type text NOT NULL,
  provider text NOT NULL,
  "providerAccountId" text NOT NULL,
  refresh_token text,
  access_token text,
  expires_at integer,
  token_type text,
  scope text,
  id_token text,
  session_state text,
  PRIMARY KEY (provider, "providerAccountId")
);
CREATE TABLE session (
  "sessionToken" text PRIMARY KEY,
  "userId" text NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
  expires timestamp NOT NULL
);
CREATE TABLE "verificationToken" (
  identifier text NOT NULL,
  token text NOT NULL,
  expires timestamp NOT NULL,
  PRIMARY KEY (identifier, token)
);
