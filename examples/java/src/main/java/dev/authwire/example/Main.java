package dev.authwire.example;

import dev.authwire.v1.DecodeRequest;
import dev.authwire.v1.User;
import dev.authwire.v1.CreateUserRequest;
import dev.authwire.v1.GetUserByEmailRequest;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.protobuf.Struct;
import com.google.protobuf.util.JsonFormat;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Shows how a Java backend uses Authwire. See README.md. */
public final class Main {
  private static final String USAGE =
      """
      usage: example decode [--cookie NAME] TOKEN             what a token says
             example serve [--cookie NAME] [--listen ADDRESS] answer GET /me with who is signed in
             example user EMAIL                               create a user, or find the one with this address
             example vectors FILE                             run the test vectors of token/vectors.json
      The address of Authwire is read from AUTHWIRE_URL; default http://127.0.0.1:50051. Its API key: AUTHWIRE_API_KEY.
      With https:// it speaks TLS; AUTHWIRE_TLS_CA is a file of authorities (PEM) to trust in place of Java's own.""";

  /** The output of the command `user`. */
  record FoundUser(String userId, String name, String email, boolean created) {}

  public static void main(String[] args) throws Exception {
    List<String> words = new ArrayList<>(List.of(args));
    String cookie = option(words, "--cookie", "authjs.session-token");
    String listen = option(words, "--listen", "127.0.0.1:8093");
    String url = System.getenv().getOrDefault("AUTHWIRE_URL", "http://127.0.0.1:50051");
    String command = words.isEmpty() ? "" : words.remove(0);
    if (!List.of("decode", "serve", "user", "vectors").contains(command)
        || words.size() != (command.equals("serve") ? 0 : 1)) {
      System.err.println(USAGE);
      System.exit(2);
    }
    Duration timeout = command.equals("serve") ? Authwire.TIMEOUT : Authwire.FIRST_TIMEOUT;
    Authwire authwire =
        new Authwire(url, System.getenv("AUTHWIRE_API_KEY"), System.getenv("AUTHWIRE_TLS_CA"), timeout);
    if (command.equals("serve")) {
      Server.serve(authwire, listen, cookie);
      return;
    }
    String argument = words.get(0);
    int status = 1;
    try (authwire) {
      status =
          switch (command) {
            case "decode" -> decode(authwire, argument, cookie);
            case "user" -> user(authwire, argument);
            default -> Vectors.run(authwire, argument);
          };
    } catch (StatusRuntimeException error) {
      System.err.println("example: " + error.getMessage());
    }
    System.exit(status);
  }

  /** Prints the claims of a token. Auth.js uses the name of the cookie as the salt. */
  private static int decode(Authwire authwire, String token, String cookie) throws Exception {
    DecodeRequest request = DecodeRequest.newBuilder().setToken(token).setSalt(cookie).build();
    try {
      Struct claims = authwire.tokens().decode(request).getPayload();
      System.out.println(JsonFormat.printer().omittingInsignificantWhitespace().print(claims));
      return 0;
    } catch (StatusRuntimeException error) {
      String reason = Authwire.reason(error);
      switch (reason) {
        case "TOKEN_EXPIRED" -> System.err.println("example: the token has expired");
        case "TOKEN_MALFORMED", "TOKEN_ALGORITHM_NOT_ALLOWED", "NO_MATCHING_SECRET" ->
            System.err.printf("example: this is not a token of ours (%s)%n", reason);
        default -> throw error;
      }
      return 1;
    }
  }

  /** Creates a user with an e-mail address and reads it back. If the address is taken, it reads the existing user. */
  private static int user(Authwire authwire, String email) {
    boolean created = true;
    try {
      authwire.users().createUser(CreateUserRequest.newBuilder().setEmail(email).build());
    } catch (StatusRuntimeException error) {
      if (!Authwire.reason(error).equals("EMAIL_ALREADY_EXISTS")) throw error;
      created = false;
    }
    GetUserByEmailRequest request = GetUserByEmailRequest.newBuilder().setEmail(email).build();
    User user = authwire.users().getUserByEmail(request).getUser();
    Gson gson = new GsonBuilder().serializeNulls().create();
    String name = user.hasName() ? user.getName() : null;
    System.out.println(gson.toJson(new FoundUser(user.getId(), name, user.getEmail(), created)));
    return 0;
  }

  /** Removes an option and its value from the words, and returns the value. */
  private static String option(List<String> words, String name, String otherwise) {
    int at = words.indexOf(name);
    if (at < 0 || at + 1 == words.size()) return otherwise;
    words.remove(at);
    return words.remove(at);
  }
}
