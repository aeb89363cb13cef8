package dev.authwire.example;

import dev.authwire.v1.DecodeRequest;
import dev.authwire.v1.GetTokenRequest;
import dev.authwire.v1.GetTokenResponse;
import dev.authwire.v1.Header;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import com.google.protobuf.util.JsonFormat;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/** Sends the test vectors of token/vectors.json, which @auth/core created, to the service. */
final class Vectors {
  private static final Value NULL = Value.newBuilder().setNullValue(NullValue.NULL_VALUE).build();

  private final Authwire authwire;
  private int passed;
  private int failed;
  private int leftOut;

  private Vectors(Authwire authwire) {
    this.authwire = authwire;
  }

  /** Prints the failures and counts, and returns the exit status. Skips the vectors that need a frozen clock. */
  static int run(Authwire authwire, String file) throws IOException {
    Struct.Builder all = Struct.newBuilder();
    JsonFormat.parser().merge(Files.readString(Path.of(file)), all);
    Vectors vectors = new Vectors(authwire);
    vectors.runAll(all.getFieldsOrThrow("valid"), "payload", vectors::decode);
    vectors.runAll(all.getFieldsOrThrow("refused"), "code", vectors::decode);
    vectors.runAll(all.getFieldsOrThrow("requests"), "payload", vectors::getToken);
    System.out.printf("%d passed, %d failed, %d left out%n", vectors.passed, vectors.failed, vectors.leftOut);
    return vectors.failed == 0 ? 0 : 1;
  }

  private void runAll(Value vectors, String expected, Function<Struct, Value> run) {
    for (Value value : vectors.getListValue().getValuesList()) {
      Struct vector = value.getStructValue();
      if (text(vector, "clock").equals("frozen")) {
        leftOut++;
        continue;
      }
      Value want = vector.getFieldsOrThrow(expected);
      Value got = run.apply(vector);
      if (got.equals(want)) {
        passed++;
      } else {
        failed++;
        System.out.printf("failed: %s: got %s, want %s%n", text(vector, "name"), json(got), json(want));
      }
    }
  }

  /** Returns the claims, or the reason of the error. */
  private Value decode(Struct vector) {
    DecodeRequest.Builder request = DecodeRequest.newBuilder();
    request.setToken(text(vector, "token")).setSalt(text(vector, "salt")).addAllSecrets(texts(vector, "secrets"));
    try {
      return Value.newBuilder().setStructValue(authwire.tokens().decode(request.build()).getPayload()).build();
    } catch (StatusRuntimeException error) {
      return text(Authwire.reason(error));
    }
  }

  /** Returns the claims, the raw token, null, or the reason of an error. */
  private Value getToken(Struct vector) {
    GetTokenRequest.Builder request = GetTokenRequest.newBuilder().addAllSecrets(texts(vector, "secrets"));
    for (Value header : vector.getFieldsOrThrow("headers").getListValue().getValuesList()) {
      List<Value> pair = header.getListValue().getValuesList();
      request.addHeaders(Header.newBuilder().setName(pair.get(0).getStringValue()).setValue(pair.get(1).getStringValue()));
    }
    if (vector.containsFields("cookieName")) request.setCookieName(text(vector, "cookieName"));
    if (vector.containsFields("salt")) request.setSalt(text(vector, "salt"));
    if (vector.containsFields("secureCookie")) {
      request.setSecureCookie(vector.getFieldsOrThrow("secureCookie").getBoolValue());
    }
    request.setRaw(vector.getFieldsOrDefault("raw", NULL).getBoolValue());
    try {
      GetTokenResponse answer = authwire.tokens().getToken(request.build());
      return switch (answer.getResultCase()) {
        case PAYLOAD -> Value.newBuilder().setStructValue(answer.getPayload()).build();
        case RAW -> text(answer.getRaw());
        case RESULT_NOT_SET -> NULL;
      };
    } catch (StatusRuntimeException error) {
      return text("error: " + Authwire.reason(error));
    }
  }

  private static String json(Value value) {
    try {
      return JsonFormat.printer().omittingInsignificantWhitespace().print(value);
    } catch (InvalidProtocolBufferException unprintable) {
      return value.toString();
    }
  }

  private static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  private static String text(Struct vector, String name) {
    return vector.getFieldsOrDefault(name, NULL).getStringValue();
  }

  private static List<String> texts(Struct vector, String name) {
    return vector.getFieldsOrThrow(name).getListValue().getValuesList().stream().map(Value::getStringValue).toList();
  }
}
