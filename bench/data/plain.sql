-- The tables of @auth/drizzle-adapter's documentation for MySQL; the adapter written by hand has the same.
CREATE TABLE user (
  id VARCHAR(255) NOT NULL PRIMARY KEY,
  name VARCHAR(255),
  email VARCHAR(255) UNIQUE,
  emailVerified TIMESTAMP(3) NULL,
  image VARCHAR(255)
);
CREATE TABLE account (
  userId VARCHAR(255) NOT NULL,
  type VARCHAR(255) NOT NULL,
  provider VARCHAR(255) NOT NULL,
  providerAccountId VARCHAR(255) NOT NULL,
  refresh_token VARCHAR(255),
  access_token VARCHAR(255),
  expires_at INT,
  token_type VARCHAR(255),
  scope VARCHAR(255),
  id_token VARCHAR(2048),
  session_state VARCHAR(255),
  PRIMARY KEY (provider, providerAccountId),
  FOREIGN KEY (userId) REFERENCES user (id) ON DELETE CASCADE
);
CREATE TABLE session (
  sessionToken VARCHAR(255) NOT NULL PRIMARY KEY,
  userId VARCHAR(255) NOT NULL,
  expires TIMESTAMP NOT NULL,
  FOREIGN KEY (userId) REFERENCES user (id) ON DELETE CASCADE
);
CREATE TABLE verificationToken (
  identifier VARCHAR(255) NOT NULL,
  token VARCHAR(255) NOT NULL,
  expires TIMESTAMP NOT NULL,
  PRIMARY KEY (identifier, token)
);
