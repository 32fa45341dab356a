// Package bounded bounds the connections of a listener, in all and for each address.
package bounded

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// networkShare is the divisor of the share of all connections that one network may have.
const networkShare = 8

// Listener accepts a connection only when there is room for it; others wait in the queue of the
// operating system. It closes connections of a network, see [Network], that already has an eighth
// of all.
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

// Network returns the addresses that count as one: an address of IPv4, or a /64 network of IPv6,
// because a machine can use all of its addresses.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, _ := address.Prefix(bits) // fails only for too many bits
	return network
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

// Addresses is a set of addresses. Nil is empty.
type Addresses []netip.Prefix

// Parse parses addresses and ranges, such as 10.0.0.0/8, which are separated by commas. They may be of IPv4 written as
// IPv6.
func Parse(text string) (out Addresses, err error) {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			address, wrong := netip.ParseAddr(item)
			if wrong != nil {
				return nil, fmt.Errorf("%q: want an address, or a range such as 10.0.0.0/8", item)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// HasSender reports whether a request was sent from one of the addresses.
func (a Addresses) HasSender(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.Has(from.Addr())
}

// Has reports whether an address is in the set. An IPv4 address that is written as IPv6 counts as
// IPv4, and zones do not count.
func (a Addresses) Has(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(a, func(p netip.Prefix) bool { return p.Contains(address) })
}
