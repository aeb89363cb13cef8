package deployment

import (
	"net"
	"sync"
)

// Proxy forwards TCP connections to a target, until they are cut or held.
type Proxy struct {
	listener net.Listener
	target   string

	mu          sync.Mutex
	connections map[*forwarded]struct{}
	// What requests and answers wait for: everything passes a channel that is closed.
	requests, answers chan struct{}
}

type forwarded struct {
	client, server net.Conn
	done           chan struct{}
	end            sync.Once
}

// newProxy listens on a free port of 127.0.0.1, which stays the same until the proxy is closed.
func newProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, connections: map[*forwarded]struct{}{}, requests: open(), answers: open()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(client)
		}
	}()
	return p, nil
}

// Address returns HOST:PORT of the listener.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Hold lets nothing pass until Release. Connections stay open, and new ones are accepted.
func (p *Proxy) Hold() { p.shut(true, true) }

// HoldAnswers lets requests pass, but no answer. With Cut and Release, what was requested meanwhile has been done, and
// nobody knows.
func (p *Proxy) HoldAnswers() { p.shut(false, true) }

// Release ends Hold and HoldAnswers.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, gate := range []chan struct{}{p.requests, p.answers} {
		select {
		case <-gate:
		default:
			close(gate)
		}
	}
}

// Cut closes all connections with a reset, and drops what is held.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for connection := range p.connections {
		connection.close(true)
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.Cut()
}

func (p *Proxy) shut(requests, answers bool) {
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	if requests {
		p.requests = make(chan struct{})
	}
	if answers {
		p.answers = make(chan struct{})
	}
}

func (p *Proxy) forward(client net.Conn) {
	connection := &forwarded{client: client, done: make(chan struct{})}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		closeWith(client, true)
		return
	}
	connection.server = server
	p.mu.Lock()
	p.connections[connection] = struct{}{}
	p.mu.Unlock()
	var copying sync.WaitGroup
	copying.Go(func() { p.copy(connection, server, client, func() chan struct{} { return p.requests }) })
	copying.Go(func() { p.copy(connection, client, server, func() chan struct{} { return p.answers }) })
	copying.Wait()
	p.mu.Lock()
	delete(p.connections, connection)
	p.mu.Unlock()
}

// copy forwards one direction. The end of one direction ends the connection.
func (p *Proxy) copy(connection *forwarded, to, from net.Conn, gate func() chan struct{}) {
	defer connection.close(false)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		passes := gate()
		p.mu.Unlock()
		select {
		case <-passes:
		case <-connection.done:
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// close ends both sides, with a reset or as usual.
func (f *forwarded) close(reset bool) {
	f.end.Do(func() {
		close(f.done)
		closeWith(f.client, reset)
		closeWith(f.server, reset)
	})
}

func closeWith(connection net.Conn, reset bool) {
	if reset {
		_ = connection.(*net.TCPConn).SetLinger(0)
	}
	_ = connection.Close()
}

// open returns a channel that everything passes.
func open() chan struct{} {
	gate := make(chan struct{})
	close(gate)
	return gate
}
