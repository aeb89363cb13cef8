package dev.authwire.example;

import dev.authwire.v1.Header;
import dev.authwire.v1.IntrospectRequest;
import dev.authwire.v1.IntrospectResponse;
import dev.authwire.v1.User;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds the signed-in user of a request. */
final class SignedIn {
  /** The signed-in user and the kind of session. Name and e-mail address may be null. */
  record Identity(String userId, String name, String email, String by) {}

  private final Authwire authwire;
  private final String cookie;

  /** The parameter `cookie` is the name of the session cookie. */
  SignedIn(Authwire authwire, String cookie) {
    this.authwire = authwire;
    this.cookie = cookie;
  }

  /**
   * Returns the user of a request with these headers; empty if the request has no valid session. It works for database
   * sessions and JWT sessions. If it throws, the result is unknown: an outage must never look like a sign-out.
   */
  Optional<Identity> whoIsSignedIn(Map<String, List<String>> headers) {
    IntrospectRequest.Builder request = IntrospectRequest.newBuilder().setCookieName(cookie);
    for (String name : List.of("Cookie", "Authorization")) {
      for (String value : headers.getOrDefault(name, List.of())) {
        request.addHeaders(Header.newBuilder().setName(name).setValue(value));
      }
    }
    IntrospectResponse answer = authwire.introspection().introspect(request.build());
    if (!answer.getActive()) return Optional.empty();
    if (answer.hasUser()) {
      User user = answer.getUser();
      String name = user.hasName() ? user.getName() : null;
      String email = user.hasEmail() ? user.getEmail() : null;
      return Optional.of(new Identity(user.getId(), name, email, "session"));
    }
    Struct claims = answer.getClaims();
    return Optional.of(new Identity(answer.getSub(), text(claims, "name"), text(claims, "email"), "jwt"));
  }

  /** Returns the string value of a claim, or null if the claim is absent, null or of another type. */
  private static String text(Struct claims, String name) {
    Value claim = claims.getFieldsOrDefault(name, Value.getDefaultInstance());
    return claim.hasStringValue() ? claim.getStringValue() : null;
  }
}
