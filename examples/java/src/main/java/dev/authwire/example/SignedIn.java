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
   * Finds the user of a request by its headers; empty if nobody is signed in. It is the same whether the application
   * keeps its sessions in the database or in JWTs. When it throws, that is not known: an outage must never look like a
   * sign-out.
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

  /** The string that a claim holds, null if it is absent, null or something else. */
  private static String text(Struct claims, String name) {
    Value claim = claims.getFieldsOrDefault(name, Value.getDefaultInstance());
    return claim.hasStringValue() ? claim.getStringValue() : null;
  }
}
