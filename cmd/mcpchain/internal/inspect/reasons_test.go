package inspect

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// A first start by a program that installs the server gets the advice to wait longer, in the report and before
// a call. Another program does not.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links to this program need a privilege there")
	}
	self, err := os.Executable()
	check.Must(t, err)
	for name, hint := range map[string]string{
		"npx": "; the first start by npx installs the server: try -connect-timeout 3m", "uvx": "; the first start by uvx installs the server: try -connect-timeout 3m", "node": "; is it an MCP server, and one that speaks over standard input and output?",
	} {
		program := filepath.Join(t.TempDir(), name)
		check.Must(t, os.Symlink(self, program))
		file := servers(fmt.Sprintf(`"slow":{"command":%q,"env":{"MCPCHAIN_INSPECT_ROLE":"silent"}}`, program))
		_, out, _ := inspectFile(t, file, "-connect-timeout", "50ms")
		_, _, stderr := inspectFile(t, file, "-connect-timeout", "50ms", "-call", "x")
		for _, got := range []string{out, stderr} {
			check.That(t, strings.HasSuffix(strings.TrimSpace(got), " runs, but gave no answer within 50ms (-connect-timeout)"+hint),
				"%s: got %s, want it with %q at the end", name, got, hint)
		}
	}
}

// Of nine servers six are broken, each in its way. The summary says of each what is wrong and what helps, and
// so does a call.
func TestReasons(t *testing.T) {
	t.Parallel()
	closed := testenv.FreeAddress(t)
	answer := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(secure.Close)
	child := func(name, role string) string {
		return fmt.Sprintf(`%q:{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":%q}}`, name, role)
	}
	remote := func(name, url string) string { return fmt.Sprintf(`%q:{"url":%q}`, name, url) }
	file := servers(demo, child("demo2", "demo"), child("demo3", "demo"), gone, child("ends", "exit"),
		remote("nobody", "http://"+closed+"/mcp"), remote("path", answer(404)+"/mcp"), remote("key", answer(401)),
		remote("certificate", secure.URL))
	_, out, _ := inspectFile(t, file)
	check.That(t, strings.HasPrefix(out, "3 of 9 servers can be used\n"), "got %s", out)
	for name, want := range map[string][]string{
		"gone":        {`server "gone": start "/does/not/exist": `},
		"ends":        {`inspect.test`, `" came to its end: exit status 3; what it wrote to standard output is no message of a server: "usage: server stdio"; it wrote to stderr:`, "\n    API_KEY is not set\n"},
		"nobody":      {`server "nobody": the server cannot be reached: is the server running? check the URL (dial tcp `},
		"path":        {`server "path": there is no MCP server at this URL: check its path, which often ends with /mcp or /sse (HTTP status 404 of `},
		"key":         {`server "key": the server wants a sign-in: add the flags -sign-in -server "key", or a token in its "headers"`},
		"certificate": {`server "certificate": this machine does not trust the certificate of the server: check the URL; for a server of your own, SSL_CERT_FILE`},
	} {
		_, about, _ := strings.Cut(out, "\n\n"+name+": ")
		about, _, _ = strings.Cut(about, "\n\n")
		_, _, called := inspectFile(t, file, "-server", name, "-call", "x")
		for _, w := range want {
			check.That(t, strings.Contains(about+"\n", w) && strings.Contains(called, strings.ReplaceAll(w, "\n    ", "\n")),
				"%s: got\n%s\nand for a call\n%s\nwant %q", name, about, called, w)
		}
	}
}

// A program that writes its log where messages belong is told with that log.
func TestLogOnStandardOutput(t *testing.T) {
	t.Parallel() // it takes long: the program has to begin within the time-out
	_, out, _ := inspectFile(t, servers(`"chatty":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"chatty"}}`), "-connect-timeout", "10s")
	for _, want := range []string{
		`" runs, but gave no answer within 10s (-connect-timeout); what it writes to standard output is no message of a server: "listening": does it need another argument to speak MCP there?; it wrote to stderr:`,
		"\n    waiting for the database\n",
	} {
		check.Contains(t, "", out, want)
	}
}

// Many lines of one server leave room for those of another.
func TestLoudServers(t *testing.T) {
	t.Parallel()
	const loud = `{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"loud"}}`
	_, _, stderr := inspectFile(t, servers(`"a":`+loud+`,"b":`+loud))
	for _, name := range []string{"a", "b"} {
		check.Equal(t, "warnings of "+name, strings.Count(stderr, " server="+name+" "), 50)
	}
}

// A line before the messages is tolerated, and reported.
func TestBanner(t *testing.T) {
	t.Parallel()
	status, _, stderr := inspectFile(t, servers(`"b":{"command":"SELF","env":{"MCPCHAIN_INSPECT_ROLE":"banner"}}`))
	if status != statusFine || strings.Count(stderr, "warning: msg=") != 1 || !strings.Contains(stderr, " server=b ") || !strings.Contains(stderr, "welcome to the demo") {
		t.Errorf("got %d and %s\nwant a warning with the server and the line", status, stderr)
	}
}
