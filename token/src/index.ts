export { type Environment, secretsFromEnvironment, secureCookieFromEnvironment } from "./environment.js"
export {
  MissingSecret,
  NoMatchingSecret,
  TokenAlgorithmNotAllowed,
  TokenError,
  type TokenErrorCode,
  TokenExpired,
  TokenMalformed,
  TokenNotYetValid,
} from "./errors/error.js"
export { isDate } from "./is-date.js"
export { requestHeaders } from "./request/request-headers.js"
export { type SessionLibrary, sessionCookieName } from "./request/session-cookie.js"
export { findSessionCredential, type SessionCredential } from "./request/session-credential.js"
export {
  createTokenModule,
  decode,
  encode,
  getToken,
  type NextAuth4,
  nextAuth4,
  type TokenModule,
  type TokenModuleOptions,
} from "./token-module.js"
export type {
  Awaitable,
  DefaultJWT,
  GetTokenParams,
  JWT,
  JWTDecodeParams,
  JWTEncodeParams,
  JWTOptions,
  LoggerInstance,
  NextAuth4DecodeParams,
  NextAuth4EncodeParams,
} from "./types.js"
