// Package bounded bounds the connections of a listener: all of them, and the ones of one address.
package bounded

import (
	"net"
	"net/netip"
	"sync"
)

// share is the part of all connections that one address may have.
const share = 8

// Listener accepts a connection when there is room for it, and closes one of an address that has an eighth of all
// connections already, before it is read.
type Listener struct {
	net.Listener
	room  chan struct{}
	each  int
	known func(netip.Addr) bool
	done  chan struct{}
	once  sync.Once

	mu sync.Mutex // guards the field below
	of map[netip.Prefix]int
}

// New returns a listener with at most this many connections. An address that is known, as a proxy is,
// may have all of them; nil knows none.
func New(l net.Listener, connections int, known func(netip.Addr) bool) *Listener {
	return &Listener{
		Listener: l, room: make(chan struct{}, connections), each: max(1, connections/share), known: known,
		done: make(chan struct{}), of: map[netip.Prefix]int{},
	}
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		select {
		case l.room <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
		conn, err := l.Listener.Accept()
		if err != nil {
			<-l.room
			return nil, err
		}
		from, ok := l.enter(conn.RemoteAddr())
		if !ok {
			_ = conn.Close()
			<-l.room
			continue
		}
		return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
	}
}

// enter counts a connection. The addresses of an IPv6 network of 64 bits are one: a machine has as many as it likes.
func (l *Listener) enter(a net.Addr) (from netip.Prefix, ok bool) {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return from, true
	}
	ip := at.Addr().Unmap().WithZone("")
	if l.known != nil && l.known(ip) {
		return from, true
	}
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	from, _ = ip.Prefix(bits) // it has as many bits
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[from] >= l.each {
		return from, false
	}
	l.of[from]++
	return from, true
}

func (l *Listener) leave(from netip.Prefix) {
	<-l.room
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[from]--; l.of[from] <= 0 {
		delete(l.of, from)
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// counted is a connection that makes room at its end.
type counted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
