package reason

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const role = "MCPCHAIN_REASON_ROLE"

// TestMain makes the test binary a server that cannot be used, if the environment says so.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "quiet":
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(7)
	case "strange":
		lines := json.NewDecoder(os.Stdin)
		for {
			var request struct{ ID json.RawMessage }
			if lines.Decode(&request) != nil {
				return
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":7}`+"\n", request.ID)
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func connect(t *testing.T, s mcpclient.Transport, timeout time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	client, err := mcpclient.Connect(ctx, s, nil)
	if err == nil {
		_ = client.Close()
		t.Fatal("got a connection")
	}
	told := Server{s, timeout}.Explain(fmt.Errorf("server %q: %w", "x", err))
	check.That(t, errors.Is(told, err), "%v does not wrap its reason", told)
	return told.Error()
}

func TestProgram(t *testing.T) {
	t.Parallel()
	self := check.Value(os.Executable())(t)
	for name, tt := range map[string]struct {
		timeout    time.Duration
		begin, end string
	}{
		"silent":  {100 * time.Millisecond, " runs, but gave no answer within 100ms (-connect-timeout); is it an MCP server, and one that speaks over standard input and output?", ""},
		"quiet":   {time.Minute, " came to its end: exit status 7; it did not say why: run its command and args in a terminal", ""},
		"strange": {time.Minute, "the program does not speak MCP as it is specified: is there a newer version of it? (initialize: mcp: invalid result: ", ")"},
	} {
		got := connect(t, &mcpclient.Command{Path: self, Env: []string{role + "=" + name}}, tt.timeout)
		_, rest, ok := strings.Cut(got, tt.begin)
		check.That(t, ok && strings.HasSuffix(rest, tt.end), "%s: got %s\nwant %s…%s", name, got, tt.begin, tt.end)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		302: "the server has another address: write that in the file (HTTP status 302 of URL); it says: said",
		400: "the server does not take the request: check the URL and the headers (HTTP status 400 of URL); it says: said",
		403: "the server does not let you in: its operator can allow your key or account (HTTP status 403 of URL); it says: said",
		405: "there is no MCP server at this URL: check its path, which often ends with /mcp or /sse (HTTP status 405 of URL); it says: said",
		429: "the server has too much to do: try again later (HTTP status 429 of URL); it says: said",
		503: "the server is out of order: try again later, or tell its operator (HTTP status 503 of URL); it says: said",
		401: `the server wants a key, or another one than it got: get one from its operator, and write it in mcp.json, as in "headers": {"Authorization": "Bearer KEY"} (HTTP status 401 of URL)`,
	} {
		answers(t, status, "text/plain", " said\n", want)
	}
}

// answers has a host answer so, and wants an explanation.
func answers(t *testing.T, status int, kind, body, want string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer s.Close()
	got := strings.ReplaceAll(connect(t, &mcpclient.HTTP{URL: s.URL}, time.Minute), s.URL, "URL")
	check.That(t, got == want, "%d: got %s\nwant %s", status, got, want)
}

// An HTML page is not shown.
func TestPage(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		404: "there is no MCP server at this URL: check its path, which often ends with /mcp or /sse (HTTP status 404 of URL)",
		200: `what answers at the URL does not speak MCP: check the URL, above all its path (mcp: invalid result: POST URL: content type "text/html", want application/json or text/event-stream: it begins "<p>")`,
	} {
		answers(t, status, "text/html", "<p>", want)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	trusting := func(change func(c *tls.Config)) *http.Client {
		own := secure.Client().Transport.(*http.Transport).Clone()
		change(own.TLSClientConfig)
		return &http.Client{Transport: own}
	}
	l := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer silent.Close()
	defer close(over)
	for name, tt := range map[string]struct {
		server  *mcpclient.HTTP
		timeout time.Duration
		want    string
	}{
		"hangs up":  {&mcpclient.HTTP{URL: "http://" + l.Addr().String()}, time.Minute, hangsUp + " ("},
		"not https": {&mcpclient.HTTP{URL: "https" + strings.TrimPrefix(plain.URL, "http")}, time.Minute, "the server does not speak https: does its URL begin with http://?"},
		"unknown":   {&mcpclient.HTTP{URL: secure.URL}, time.Minute, "this machine does not trust the certificate of the server: check the URL; for a server of your own, SSL_CERT_FILE names a file with its certificate (x509: "},
		"silent":    {&mcpclient.HTTP{URL: silent.URL}, 100 * time.Millisecond, "the server gave no answer within 100ms (-connect-timeout); is the server running? check the URL"},
		"another name": {&mcpclient.HTTP{URL: secure.URL, Client: trusting(func(c *tls.Config) { c.ServerName = "other.test" })}, time.Minute,
			"the certificate of the server is for another host: check the URL (x509: certificate is valid for "},
		"old": {&mcpclient.HTTP{URL: secure.URL, Client: trusting(func(c *tls.Config) {
			c.ServerName, c.Time = "example.com", func() time.Time { return time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }
		})}, time.Minute, "the certificate of the server is not valid today: its operator has to renew it, or the clock of this machine is wrong (x509: "},
	} {
		got := connect(t, tt.server, tt.timeout)
		check.That(t, strings.HasPrefix(got, tt.want), "%s: got %s\nwant %s", name, got, tt.want)
	}
}

// Errors that other tests cannot cause are explained, too. An error without an explanation is unchanged.
func TestExplain(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"there is no host a.test: check the URL":                                                                                     &net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.test", IsNotFound: true}},
		"the proxy cannot be reached: check HTTP_PROXY and HTTPS_PROXY (proxyconnect tcp: refused)":                                  &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("refused")},
		"the server cannot be reached: is the server running? check the URL (dial tcp: unreachable)":                                 &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("unreachable")},
		"the server gave no answer within 0s (-connect-timeout); is the server running? check the URL; it wrote to stderr:\nloading": &transport.ServerError{Err: context.DeadlineExceeded, Stderr: "loading"},
		"the server broke off its answer: try again (cut: EOF)":                                                                      &transport.BrokenError{Err: fmt.Errorf("cut: %w", io.EOF), ResponseBegun: true},
		hangsUp + " (server closed)": &transport.BrokenError{Err: errors.New("server closed")},
		"other":                      errors.New("other"),
	} {
		got := (Server{}).Explain(err)
		check.That(t, got.Error() == want && errors.Is(got, err), "got %q, want %q", got, want)
	}
	text, of := explainCertificate(x509.UnknownAuthorityError{})
	check.That(t, strings.HasPrefix(text, "this machine does not trust") && of != nil, "got %q, %v", text, of)
}

// An error about revisions comes with advice.
func TestRevision(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`the server speaks other revisions of the protocol: is there a newer version of it? (no common protocol revision: the client speaks 2, 1, the server 0 3)`:                                               &mcpclient.RevisionError{ClientRevisions: []string{"2", "1"}, ServerRevisions: []string{"0\n3"}},
		`the server does not speak the protocol revision that is asked of it: take away -revision, and "revision" in the file (no common protocol revision: the client speaks 1, the server none that it names)`: &mcpclient.RevisionError{ClientRevisions: []string{"1"}},
	} {
		got := (Server{}).Explain(fmt.Errorf("connect: initialize: %w", err))
		check.That(t, got.Error() == want && errors.Is(got, err), "got  %v\nwant %s", got, want)
	}
}
