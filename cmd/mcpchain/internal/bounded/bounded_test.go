package bounded_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/internal/check"
)

// offered is a listener with as many connections as are asked for.
type offered struct{ accepted, closed atomic.Int32 }

func (l *offered) Accept() (net.Conn, error) {
	if l.closed.Load() > 0 {
		return nil, net.ErrClosed
	}
	l.accepted.Add(1)
	_, server := net.Pipe()
	return server, nil
}

func (l *offered) Addr() net.Addr { return nil }
func (l *offered) Close() error {
	l.closed.Add(1)
	return nil
}

// TestListener accepts a connection only when there is room: an earlier one has ended, and was counted once.
func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &offered{}
		listener := bounded.New(inner, 2, nil)
		conns, ended := make(chan net.Conn, 10), make(chan error, 1)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					ended <- err
					return
				}
				conns <- conn
			}
		}()
		accepted := func(want int32) {
			t.Helper()
			synctest.Wait()
			check.Equal(t, "connections", inner.accepted.Load(), want)
		}
		accepted(2)
		first := <-conns
		first.Close()
		first.Close()
		accepted(3)
		(<-conns).Close()
		(<-conns).Close()
		accepted(5)
		err := listener.Close()
		check.That(t, err == nil && inner.closed.Load() == 1, "%v %v", err, inner.closed.Load())
		check.NoError(t, listener.Close(), "close it twice")
		if err := <-ended; !errors.Is(err, net.ErrClosed) { // it has waited for room
			t.Errorf("got %v, want that the listener is closed", err)
		}
	})
}

type failing struct{ offered }

func (*failing) Accept() (net.Conn, error) { return nil, errors.New("no file is left") }

// TestListenerFails keeps its room if a connection cannot be accepted.
func TestListenerFails(t *testing.T) {
	listener := bounded.New(&failing{}, 1, nil)
	for range 3 {
		_, err := listener.Accept()
		check.Require(t, err != nil && strings.Contains(err.Error(), "no file"), "got %v, want the error", err)
	}
}

type from struct {
	net.Conn
	addr   string
	closed bool
}

func (c *from) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.addr)) }
func (c *from) Close() error         { c.closed = true; return nil }

type queued struct {
	offered
	conns []*from
}

func (l *queued) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, net.ErrClosed
	}
	next := l.conns[0]
	l.conns = l.conns[1:]
	return next, nil
}

// TestEachAddress keeps one address, or one network of IPv6, from holding all connections. A proxy may.
func TestEachAddress(t *testing.T) {
	inner := &queued{}
	var all []*from
	come := func(addrs ...string) {
		for _, a := range addrs {
			c := &from{addr: a}
			all, inner.conns = append(all, c), append(inner.conns, c)
		}
	}
	listener := bounded.New(inner, 16, check.Value(bounded.Parse("::ffff:10.0.0.4/127"))(t).Has) // two of each
	come("1.2.3.4:1", "1.2.3.4:2", "1.2.3.4:3", "[::ffff:1.2.3.4]:4", "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1",
		"10.0.0.5:1", "10.0.0.5:2", "10.0.0.5:3", "5.6.7.8:1")
	var first net.Conn
	for range 8 {
		conn := check.Value(listener.Accept())(t)
		if first == nil {
			first = conn
		}
	}
	var refused []string
	for _, c := range all {
		if c.closed {
			refused = append(refused, c.addr)
		}
	}
	got, want := strings.Join(refused, " "), "1.2.3.4:3 [::ffff:1.2.3.4]:4 [2001:db8::3]:1"
	check.That(t, got == want, "refused %s, want %s", got, want)
	check.Must(t, first.Close())
	come("1.2.3.4:9")
	conn, err := listener.Accept()
	check.That(t, err == nil && conn.RemoteAddr().String() == "1.2.3.4:9", "got %v, %v, want that there is room again", conn, err)
}
