package dev.authwire.example;

import dev.authwire.v1.IntrospectRequest;
import dev.authwire.v1.IntrospectionServiceGrpc;
import dev.authwire.v1.IntrospectionServiceGrpc.IntrospectionServiceBlockingStub;
import dev.authwire.v1.TokenServiceGrpc;
import dev.authwire.v1.TokenServiceGrpc.TokenServiceBlockingStub;
import dev.authwire.v1.UserServiceGrpc;
import dev.authwire.v1.UserServiceGrpc.UserServiceBlockingStub;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.IOException;
import java.time.Duration;

/** The clients of the services, which share one connection. They are thread-safe. */
final class Authwire implements AutoCloseable {
  /**
   * The timeout of a call of the server. Without a deadline, a call could wait forever if the network does not respond.
   */
  static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** The timeout of the first call, which loads the libraries. On a busy machine that takes seconds. */
  static final Duration FIRST_TIMEOUT = Duration.ofSeconds(10);

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  private final Duration timeout;

  /**
   * Creates the clients.
   *
   * @param apiKey the API key for every call, or null for an Authwire with --dev
   * @param authorities a file of certificate authorities (PEM) to trust instead of Java's own, or null
   * @param timeout the timeout of a call, which includes loading the libraries in the first one
   */
  Authwire(String url, String apiKey, String authorities, Duration timeout) throws IOException {
    this.timeout = timeout;
    Metadata header = new Metadata();
    if (apiKey != null) header.put(AUTHORIZATION, "Bearer " + apiKey);
    channel =
        Grpc.newChannelBuilder(url.replaceFirst("^https?://", ""), security(url, authorities))
            .intercept(MetadataUtils.newAttachHeadersInterceptor(header))
            .build();
  }

  /** Returns TLS credentials for https:// and insecure ones for http://. */
  private static ChannelCredentials security(String url, String authorities) throws IOException {
    if (!url.startsWith("https://")) return InsecureChannelCredentials.create();
    if (authorities == null) return TlsChannelCredentials.create();
    return TlsChannelCredentials.newBuilder().trustManager(new File(authorities)).build();
  }

  /**
   * Makes a first call, so that no user waits while the libraries are loaded. Its result does not matter: if the service
   * cannot be reached, each request finds that out for itself.
   */
  void warmUp() {
    try {
      IntrospectionServiceGrpc.newBlockingStub(channel)
          .withDeadlineAfter(FIRST_TIMEOUT)
          .introspect(IntrospectRequest.getDefaultInstance());
    } catch (StatusRuntimeException error) {
      // Otherwise gRPC would let the next calls fail until its pause between two attempts to connect is over.
      channel.resetConnectBackoff();
    }
  }

  // The deadline of a call counts from the creation of its stub. Create a stub for each call.

  TokenServiceBlockingStub tokens() {
    return TokenServiceGrpc.newBlockingStub(channel).withDeadlineAfter(timeout);
  }

  IntrospectionServiceBlockingStub introspection() {
    return IntrospectionServiceGrpc.newBlockingStub(channel).withDeadlineAfter(timeout);
  }

  UserServiceBlockingStub users() {
    return UserServiceGrpc.newBlockingStub(channel).withDeadlineAfter(timeout);
  }

  /**
   * Returns why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix. Empty if the
   * service did not give a reason. In that case use the status code.
   */
  static String reason(StatusRuntimeException error) {
    for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (!detail.is(ErrorInfo.class)) continue;
      try {
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        if (info.getDomain().equals("authwire")) return info.getReason();
      } catch (InvalidProtocolBufferException e) {
        // An unreadable detail contains no reason.
      }
    }
    return "";
  }

  @Override
  public void close() {
    channel.shutdown();
  }
}
