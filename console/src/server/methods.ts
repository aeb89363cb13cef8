/** The methods that the page uses. The console forwards no other. */
export const methods: ReadonlySet<string> = new Set(
  Object.entries({
    ApiKeyService: ["GetCurrentApiKey"],
    UserService: ["GetUser", "GetUserByEmail", "ListUsers", "CountUsers", "UpdateUser", "DeleteUser"],
    AccountService: ["ListAccountsByUser", "UnlinkAccount"],
    SessionService: ["ListSessions", "RevokeSession", "RevokeUserSessions"],
    AuthenticatorService: ["ListAuthenticatorsByUserId"],
    EventService: ["Watch"],
  }).flatMap(([service, names]) => names.map((name) => `authwire.v1.${service}/${name}`)),
)
