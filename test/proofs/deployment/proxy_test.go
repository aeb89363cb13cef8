package deployment

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that answers each byte with the same byte, and reports it.
func echo(t *testing.T) (address string, received <-chan byte) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	bytes := make(chan byte, 10)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				for one := make([]byte, 1); ; {
					if _, err := connection.Read(one); err != nil {
						return
					}
					bytes <- one[0]
					_, _ = connection.Write(one)
				}
			}()
		}
	}()
	return listener.Addr().String(), bytes
}

func dial(t *testing.T, proxy *Proxy) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
	return connection
}

func send(t *testing.T, connection net.Conn, one byte) {
	t.Helper()
	if _, err := connection.Write([]byte{one}); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, connection net.Conn, one byte) {
	t.Helper()
	answer := make([]byte, 1)
	if _, err := io.ReadFull(connection, answer); err != nil || answer[0] != one {
		t.Fatalf("got %q and %v, not %q", answer, err, one)
	}
}

func TestProxy(t *testing.T) {
	address, received := echo(t)
	proxy, err := newProxy(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.close)
	first := dial(t, proxy)
	send(t, first, 'a')
	expect(t, first, 'a')
	<-received

	// Held, nothing passes, not even on a new connection.
	proxy.Hold()
	second := dial(t, proxy)
	send(t, first, 'b')
	send(t, second, 'c')
	_ = first.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := first.Read(make([]byte, 1)); err == nil || len(received) > 0 {
		t.Fatal("a held connection has passed something")
	}
	_ = first.SetReadDeadline(time.Now().Add(20 * time.Second))
	proxy.Release()
	expect(t, first, 'b')
	expect(t, second, 'c')
	_, _ = <-received, <-received

	// Answers are lost that belong to requests which have arrived.
	proxy.HoldAnswers()
	send(t, first, 'd')
	if one := <-received; one != 'd' {
		t.Fatalf("the server received %q", one)
	}
	proxy.Cut()
	proxy.Release()
	if n, err := first.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Fatal("the answer was not lost")
	}
	third := dial(t, proxy)
	send(t, third, 'e')
	expect(t, third, 'e')
}
