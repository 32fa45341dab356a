// Package bounded bounds the connections of a listener, in all and for each address.
package bounded

import (
	"net"
	"net/netip"
	"sync"
)

// networkShare is the divisor of the share of all connections that one network may have.
const networkShare = 8

// Listener accepts a connection only when there is room for it; others wait in the queue of the operating system. It
// closes connections of a network, see [Network], that already has an eighth of all.
type Listener struct {
	net.Listener
	slots      chan struct{}         // has a value for each connection
	perNetwork int                   // maximum number of connections of a network
	trusted    func(netip.Addr) bool // nil: none
	done       chan struct{}         // closed by Close
	once       sync.Once

	mu    sync.Mutex           // guards the field below
	conns map[netip.Prefix]int // number of connections by network
}

// New returns a listener with a maximum number of connections. A trusted address, such as a proxy's, may have all of
// them; trusted may be nil.
func New(l net.Listener, connections int, trusted func(netip.Addr) bool) *Listener {
	return &Listener{
		Listener:   l,
		slots:      make(chan struct{}, connections),
		perNetwork: max(1, connections/networkShare),
		trusted:    trusted,
		done:       make(chan struct{}),
		conns:      map[netip.Prefix]int{},
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
		accepted, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		from, ok := l.admit(accepted.RemoteAddr())
		if !ok {
			_ = accepted.Close()
			<-l.slots
			continue
		}
		return &conn{Conn: accepted, release: sync.OnceFunc(func() { l.release(from) })}, nil
	}
}

// admit counts a connection of a network, and reports whether it is allowed. A connection of a
// trusted address, or of no IP address, counts for the zero network, which has no bound.
func (l *Listener) admit(a net.Addr) (from netip.Prefix, ok bool) {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return from, true
	}
	if l.trusted != nil && l.trusted(at.Addr()) {
		return from, true
	}
	from = Network(at.Addr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[from] >= l.perNetwork {
		return from, false
	}
	l.conns[from]++
	return from, true
}

// release counts the end of a connection.
func (l *Listener) release(from netip.Prefix) {
	<-l.slots
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[from]--; l.conns[from] <= 0 {
		delete(l.conns, from)
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// conn is a connection that makes room when it is closed.
type conn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
