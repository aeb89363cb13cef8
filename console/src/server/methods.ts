/** The methods that the page uses. The console forwards no other. */
export const methods: ReadonlySet<string> = new Set(
  Object.entries({
    ApiKeyService: ["GetCurrentApiKey", "ListApiKeys", "CreateApiKey", "RevokeApiKey"],
    TenantService: ["ListTenants", "CreateTenant"],
    UserService: [
      "GetUser",
      "CreateUser",
      "GetUserByEmail",
      "BatchGetUsers",
      "ListUsers",
      "CountUsers",
      "UpdateUser",
      "DeleteUser",
      "DisableUser",
      "EnableUser",
    ],
    AccountService: ["ListAccountsByUser", "UnlinkAccount"],
    SessionService: ["ListSessions", "CountSessions", "RevokeSession", "RevokeUserSessions", "RevokeAllSessions"],
    SessionPolicyService: ["GetSessionPolicy", "UpdateSessionPolicy"],
    AuthenticatorService: ["ListAuthenticators", "DeleteAuthenticator"],
    EventService: ["Watch"],
    AuditService: ["ListAuditEntries"],
  }).flatMap(([service, names]) => names.map((name) => `authwire.v1.${service}/${name}`)),
)
