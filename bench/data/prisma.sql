-- The tables that `prisma db push` makes of bench/schema.prisma; its engine for that is a download.
CREATE TABLE User (
  id VARCHAR(191) NOT NULL PRIMARY KEY,
  name VARCHAR(191),
  email VARCHAR(191),
  emailVerified DATETIME(3),
  image VARCHAR(191),
  createdAt DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  updatedAt DATETIME(3) NOT NULL,
  UNIQUE INDEX User_email_key (email)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE Account (
  id VARCHAR(191) NOT NULL PRIMARY KEY,
  userId VARCHAR(191) NOT NULL,
  type VARCHAR(191) NOT NULL,
  provider VARCHAR(191) NOT NULL,
  providerAccountId VARCHAR(191) NOT NULL,
  refresh_token TEXT,
  access_token TEXT,
  expires_at INT,
  token_type VARCHAR(191),
  scope VARCHAR(191),
  id_token TEXT,
  session_state VARCHAR(191),
  createdAt DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  updatedAt DATETIME(3) NOT NULL,
  INDEX Account_userId_idx (userId),
  UNIQUE INDEX Account_provider_providerAccountId_key (provider, providerAccountId),
  FOREIGN KEY (userId) REFERENCES User (id) ON DELETE CASCADE ON UPDATE CASCADE
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE Session (
  id VARCHAR(191) NOT NULL PRIMARY KEY,
  sessionToken VARCHAR(191) NOT NULL,
  userId VARCHAR(191) NOT NULL,
  expires DATETIME(3) NOT NULL,
  createdAt DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  updatedAt DATETIME(3) NOT NULL,
  INDEX Session_userId_idx (userId),
  UNIQUE INDEX Session_sessionToken_key (sessionToken),
  FOREIGN KEY (userId) REFERENCES User (id) ON DELETE CASCADE ON UPDATE CASCADE
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE VerificationToken (
  identifier VARCHAR(191) NOT NULL,
  token VARCHAR(191) NOT NULL,
  expires DATETIME(3) NOT NULL,
  UNIQUE INDEX VerificationToken_identifier_token_key (identifier, token)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
