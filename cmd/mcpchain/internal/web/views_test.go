package web

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestOriginOfViews shows views if browsers can reach their sandbox. An address of this machine is another
// machine's own for a browser behind the proxy.
func TestOriginOfViews(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-origin", "https://agent.example", "-users", "x"}, "none"},
		{[]string{"-origin", "https://agent.example", "-users", "x", "-views-origin", "https://Views.example:443/"}, "https://views.example"},
		{nil, "http://127.0.0.1:"},
	} {
		o, err := parseFlags(append([]string{"-store", "x", "-views", "127.0.0.1:0"}, tt.args...), func(string) string { return "" }, io.Discard)
		check.Must(t, err)
		a := &app{}
		v, err := a.sandbox(o, loopback)
		check.Must(t, err)
		got := "none"
		if v != nil {
			got = v.origin
			check.NoError(t, v.listener.Close())
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: got views at %s, want %s", tt.args, got, tt.want)
		}
	}
}
