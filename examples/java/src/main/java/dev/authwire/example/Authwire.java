package dev.authwire.example;

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

/** The clients of the services that the example uses, over one connection, for any number of threads. */
final class Authwire implements AutoCloseable {
  /** How long a call of a server may take. One without a deadline waits for as long as a silent network lets it. */
  static final Duration TIMEOUT = Duration.ofSeconds(2);

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  private final Duration timeout;

  /**
   * The API key goes with every call; an Authwire with --dev needs none: null. So is a file of authorities (PEM) that
   * are trusted in place of Java's own.
   *
   * @param timeout how long a call may take, the loading of the libraries by the first one included
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

  /** TLS for https://, and none for http://. */
  private static ChannelCredentials security(String url, String authorities) throws IOException {
    if (!url.startsWith("https://")) return InsecureChannelCredentials.create();
    if (authorities == null) return TlsChannelCredentials.create();
    return TlsChannelCredentials.newBuilder().trustManager(new File(authorities)).build();
  }

  // The time of a call begins when its stub is taken: take one for each call.

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
   * Why a call failed, as a name of proto/authwire/v1/error_reason.proto without its prefix. Empty if that was not a
   * decision of the service: then the status code says what is known.
   */
  static String reason(StatusRuntimeException error) {
    for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (!detail.is(ErrorInfo.class)) continue;
      try {
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        if (info.getDomain().equals("authwire")) return info.getReason();
      } catch (InvalidProtocolBufferException e) {
        // What cannot be read names no reason.
      }
    }
    return "";
  }

  @Override
  public void close() {
    channel.shutdown();
  }
}
