package dev.authwire.example;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The HTTP server: `GET /me`. */
final class Server {
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  private final SignedIn signedIn;

  private Server(SignedIn signedIn) {
    this.signedIn = signedIn;
  }

  /** Serves until SIGTERM or SIGINT, and then finishes the active requests. Returns when it listens. */
  static void serve(Authwire authwire, String address, String cookie) throws IOException {
    authwire.warmUp();
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon);
    int port = Integer.parseInt(address.substring(colon + 1));
    HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 0);
    server.createContext("/", new Server(new SignedIn(authwire, cookie))::handle);
    ExecutorService threads = Executors.newCachedThreadPool();
    server.setExecutor(threads);
    server.start();
    System.out.printf("listening on http://%s:%d%n", host, server.getAddress().getPort());

    Thread stop = new Thread(() -> {
      server.stop((int) Authwire.TIMEOUT.multipliedBy(2).toSeconds());
      threads.shutdown();
      authwire.close();
    });
    Runtime.getRuntime().addShutdownHook(stop);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      if (!exchange.getRequestMethod().equals("GET") || !exchange.getRequestURI().getPath().equals("/me")) {
        answer(exchange, 404, Map.of("error", "not found"));
        return;
      }
      Optional<SignedIn.Identity> who;
      try {
        who = signedIn.whoIsSignedIn(exchange.getRequestHeaders());
      } catch (StatusRuntimeException error) {
        System.err.println("cannot tell who is signed in: " + error.getMessage());
        answer(exchange, 503, Map.of("error", "cannot tell who is signed in"));
        return;
      }
      if (who.isPresent()) answer(exchange, 200, who.get());
      else answer(exchange, 401, Map.of("error", "nobody is signed in"));
    }
  }

  private static void answer(HttpExchange exchange, int status, Object body) throws IOException {
    byte[] content = GSON.toJson(body).getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.getResponseHeaders().set("Cache-Control", "no-store");
    exchange.sendResponseHeaders(status, content.length);
    exchange.getResponseBody().write(content);
  }
}
