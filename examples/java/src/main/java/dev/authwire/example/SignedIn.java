package dev.authwire.example;

import dev.authwire.v1.GetSessionAndUserRequest;
import dev.authwire.v1.GetSessionAndUserResponse;
import dev.authwire.v1.GetTokenRequest;
import dev.authwire.v1.GetTokenResponse;
import dev.authwire.v1.Header;
import dev.authwire.v1.User;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.grpc.StatusRuntimeException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Who is signed in. */
final class SignedIn {
  /** Who is signed in, and by which kind of session. Name and e-mail address may be null. */
  record Identity(String userId, String name, String email, String by) {}

  private final Authwire authwire;
  private final String cookie;

  /** The cookie is the name of the session cookie. */
  SignedIn(Authwire authwire, String cookie) {
    this.authwire = authwire;
    this.cookie = cookie;
  }

  /**
   * Finds the user of a request by its headers; empty if nobody is signed in. When it throws, that is not known: an
   * outage must never look like a sign-out. An application has one kind of session, and needs one of the two halves.
   */
  Optional<Identity> whoIsSignedIn(Map<String, List<String>> headers) {
    return byJwt(headers).or(() -> bySession(headers));
  }

  /** Asks for the claims of the token that the cookie holds, whole or in chunks, or else `Authorization: Bearer`. */
  Optional<Identity> byJwt(Map<String, List<String>> headers) {
    GetTokenRequest.Builder request = GetTokenRequest.newBuilder().setCookieName(cookie);
    for (String name : List.of("Cookie", "Authorization")) {
      for (String value : headers.getOrDefault(name, List.of())) {
        request.addHeaders(Header.newBuilder().setName(name).setValue(value));
      }
    }
    GetTokenResponse answer = authwire.tokens().getToken(request.build());
    if (!answer.hasPayload()) return Optional.empty();
    Struct claims = answer.getPayload();
    return Optional.of(new Identity(text(claims, "sub"), text(claims, "name"), text(claims, "email"), "jwt"));
  }

  /** Asks for the session in the database that the cookie names, and for its user. */
  Optional<Identity> bySession(Map<String, List<String>> headers) {
    String token = cookieValue(headers);
    if (token.isEmpty()) return Optional.empty();
    GetSessionAndUserResponse answer;
    try {
      GetSessionAndUserRequest request = GetSessionAndUserRequest.newBuilder().setSessionToken(token).build();
      answer = authwire.sessions().getSessionAndUser(request);
    } catch (StatusRuntimeException error) {
      return switch (Authwire.reason(error)) {
        case "SESSION_NOT_FOUND", "INVALID_FIELD" -> Optional.empty(); // no session has such a token, or can have
        default -> throw error;
      };
    }
    User user = answer.getUser();
    String name = user.hasName() ? user.getName() : null;
    String email = user.hasEmail() ? user.getEmail() : null;
    return Optional.of(new Identity(user.getId(), name, email, "session"));
  }

  /** The value of the session cookie, empty if there is none. */
  private String cookieValue(Map<String, List<String>> headers) {
    for (String pair : String.join(";", headers.getOrDefault("Cookie", List.of())).split(";")) {
      String[] parts = pair.strip().split("=", 2);
      if (parts.length < 2 || !parts[0].equals(cookie)) continue;
      try {
        // Cookies are percent-encoded. The decoder is one for forms, where a plus sign is a space.
        return URLDecoder.decode(parts[1].replace("+", "%2B"), StandardCharsets.UTF_8);
      } catch (IllegalArgumentException malformed) {
        return "";
      }
    }
    return "";
  }

  /** The string that a claim holds, null if it is absent, null or something else. */
  private static String text(Struct claims, String name) {
    Value claim = claims.getFieldsOrDefault(name, Value.getDefaultInstance());
    return claim.hasStringValue() ? claim.getStringValue() : null;
  }
}
