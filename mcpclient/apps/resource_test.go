package apps_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// requests are what a server was asked.
type requests struct {
	first   json.RawMessage // the params of the first
	methods map[string]int
}

// connect connects to a server whose resources are read as contents and listed as listed.
func connect(t *testing.T, opts *mcpclient.Options, contents, listed string) (*mcpclient.Client, *requests) {
	transport, conn := mcpclient.Pipe()
	asked := &requests{methods: map[string]int{}}
	go testenv.Serve(conn, func(m *testenv.Message) string {
		if asked.methods[m.Method]++; asked.first == nil {
			asked.first = m.Params
		}
		switch m.Method {
		case "resources/read":
			return `"result":{"resultType":"complete","contents":[` + contents + `]}`
		case "resources/list":
			return `"result":{"resultType":"complete","resources":[` + listed + `]}`
		}
		return `"result":{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"}}`
	})
	c := check.Value(mcpclient.Connect(t.Context(), transport, opts))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c, asked
}

// server is connect in a revision.
func server(t *testing.T, revision, contents, listed string) (*mcpclient.Client, map[string]int) {
	c, asked := connect(t, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}, contents, listed)
	return c, asked.methods
}

const uri = "ui://s/v"

func contents(members string) string {
	return `{"uri":"ui://s/v","mimeType":"text/html;profile=mcp-app",` + members + `}`
}

func TestLoad(t *testing.T) {
	const meta = `"_meta":{"ui":{"csp":{"connectDomains":["https://api.example.com"]},"permissions":{"camera":{}},"prefersBorder":false,"domain":"d"}}`
	const other = `"_meta":{"ui":{"csp":{"connectDomains":["https://list.example.com"]}}}`
	no := false
	full := apps.ResourceMeta{CSP: apps.CSP{ConnectDomains: []string{"https://api.example.com"}}, Permissions: []string{"camera"}, Domain: "d", PrefersBorder: &no}
	entry := func(members string) string { return `{"uri":"ui://s/v","name":"v",` + members + `}` }
	for _, tt := range []struct {
		name, contents, listed string
		want                   apps.ResourceMeta
		lists                  int
	}{
		{"in the contents", contents(`"text":"<p>hi",` + meta), entry(other), full, 0},
		{"in the list", contents(`"text":"<p>hi"`), `{"uri":"ui://s/w","name":"w",` + other + `},` + entry(meta), full, 1},
		{"empty in the contents", contents(`"text":"<p>hi","_meta":{"ui":{}}`), entry(meta), apps.ResourceMeta{}, 0},
		{"nowhere", contents(`"text":"<p>hi"`), ``, apps.ResourceMeta{}, 1},
		{"a blob", contents(`"blob":"` + base64.StdEncoding.EncodeToString([]byte("<p>hi")) + `"`), ``, apps.ResourceMeta{}, 1},
		{"among others", `{"uri":"ui://s/other","mimeType":"text/html;profile=mcp-app","text":"no"},` + contents(`"text":"<p>hi",`+meta), ``, full, 0},
		{"type in another form", `{"uri":"ui://s/v","mimeType":"Text/HTML; profile=\"mcp-app\"","text":"<p>hi"}`, ``, apps.ResourceMeta{}, 1},
	} {
		for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
			t.Run(tt.name+"/"+revision, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, asked := server(t, revision, tt.contents, tt.listed)
					view := check.Value(apps.Load(t.Context(), c, uri))(t)
					check.Same(t, "", view, &apps.View{URI: uri, HTML: []byte("<p>hi"), Meta: tt.want})
					check.That(t, asked["resources/read"] == 1 && asked["resources/list"] == tt.lists, "got the requests %v, want %d lists", asked, tt.lists)
				})
			})
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	big := strings.Repeat("x", 16<<20+1)
	for name, contents := range map[string]string{
		"nothing":        ``,
		"another URI":    `{"uri":"ui://s/x","mimeType":"text/html;profile=mcp-app","text":"x"}`,
		"plain HTML":     `{"uri":"ui://s/v","mimeType":"text/html","text":"x"}`,
		"no type":        `{"uri":"ui://s/v","text":"x"}`,
		"another type":   `{"uri":"ui://s/v","mimeType":"text/uri-list;profile=mcp-app","text":"x"}`,
		"no document":    contents(`"text":" \n"`),
		"too large":      contents(`"text":"` + big + `"`),
		"another coding": contents(`"blob":"` + base64.StdEncoding.EncodeToString([]byte{0xff, 0xfe, 'x'}) + `"`),
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := server(t, mcp.Revision20260728, contents, "")
			check.Is(t, check.Err(apps.Load(t.Context(), c, uri)), mcp.ErrInvalidResult, name)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c, asked := server(t, mcp.Revision20260728, contents(`"text":"x"`), "")
		for _, uri := range []string{"https://example.com", "ui:/x", "", "ui://" + strings.Repeat("x", 3000)} {
			_, err := apps.Load(t.Context(), c, uri)
			check.That(t, err != nil && asked["resources/read"] <= 0, "%.20s: got %v and %v, want an error and no request", uri, err, asked)
		}
	})
}

func TestFingerprint(t *testing.T) {
	one := &apps.View{HTML: []byte("a")}
	seen := map[string]bool{one.Fingerprint(): true}
	for _, v := range []*apps.View{{HTML: []byte("b")}, {HTML: []byte("a"), Meta: apps.ResourceMeta{Permissions: []string{"camera"}}},
		{HTML: []byte("a"), Meta: apps.ResourceMeta{CSP: apps.CSP{FrameDomains: []string{"https://a.example.com"}}}}} {
		if f := v.Fingerprint(); seen[f] {
			t.Errorf("%+v: got the fingerprint of another view", v)
		} else {
			seen[f] = true
		}
	}
	check.That(t, seen[(&apps.View{HTML: []byte("a")}).Fingerprint()], "got another fingerprint for the same view")
}

func TestOfResource(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		meta string
		want apps.ResourceMeta
		said bool
	}{
		{``, apps.ResourceMeta{}, false},
		{`{}`, apps.ResourceMeta{}, false},
		{`{"ui":[]}`, apps.ResourceMeta{}, false},
		{`{"ui":{}}`, apps.ResourceMeta{}, true},
		{`{"ui":{"prefersBorder":true,"domain":7,"permissions":{"camera":true,"microphone":{},"geolocation":null,"clipboardWrite":{},"usb":{}}}}`,
			apps.ResourceMeta{PrefersBorder: &yes, Permissions: []string{"microphone", "clipboardWrite"}}, true},
		{`{"ui":{"prefersBorder":null,"csp":7,"permissions":[]}}`, apps.ResourceMeta{}, true},
		{`{"ui":{"csp":{"frameDomains":["https://a.example.com"," https://b.example.com",7],"baseUriDomains":"x","connectDomains":["wss://c.example.com"],"resourceDomains":["wss://c.example.com"]}}}`,
			apps.ResourceMeta{
				CSP:     apps.CSP{FrameDomains: []string{"https://a.example.com"}, ConnectDomains: []string{"wss://c.example.com"}},
				Refused: []string{`resourceDomains: "wss://c.example.com"`, `frameDomains: " https://b.example.com"`, `frameDomains: 7`, `baseUriDomains: "x"`},
			}, true},
	} {
		got, said := apps.OfResource(json.RawMessage(tt.meta))
		diff := cmp.Diff(got, tt.want)
		check.That(t, diff == "" && said == tt.said, "%s: said %v, got (-) want (+):\n%s", tt.meta, said, diff)
	}
}

func TestReadToolMeta(t *testing.T) {
	long := "ui://" + strings.Repeat("x", 3000)
	for _, tt := range []struct {
		meta string
		want apps.ToolMeta
		bad  bool
	}{
		{``, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":null}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":"x"}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":null}}`, apps.ToolMeta{"ui://s/v", true, true}, false},
		{`{"ui":{"resourceUri":"ui://s/v","visibility":["app"]}}`, apps.ToolMeta{"ui://s/v", false, true}, false},
		{`{"ui":{"visibility":["model","x"]}}`, apps.ToolMeta{ForModel: true}, false},
		{`{"ui":{"visibility":["app","model"]}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":[]}}`, apps.ToolMeta{}, false},
		{`{"ui":{"visibility":["Model"]}}`, apps.ToolMeta{}, false},
		{`{"ui":{"Visibility":["app"]}}`, apps.ToolMeta{ForModel: true, ForViews: true}, false},
		{`{"ui":{"visibility":["model"]},"ui":{"visibility":["app"]}}`, apps.ToolMeta{ForViews: true}, false},
		{`{"\u0075i":{"visibility":["app"]}}`, apps.ToolMeta{ForViews: true}, false},
		{`{"ui":{"visibility":"app"}}`, apps.ToolMeta{}, true},
		{`{"ui":{"visibility":[1]}}`, apps.ToolMeta{}, true},
		{`{"ui":{"visibility":{"app":true}}}`, apps.ToolMeta{}, true},
		{`{"ui/resourceUri":"ui://s/old"}`, apps.ToolMeta{"ui://s/old", true, true}, false},
		{`{"ui/resourceUri":"ui://s/old","ui":{"resourceUri":"ui://s/new"}}`, apps.ToolMeta{"ui://s/new", true, true}, false},
		{`{"ui":{"resourceUri":"https://example.com/"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"UI://s/v"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":7}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
		{`{"ui":{"resourceUri":"` + long + `"}}`, apps.ToolMeta{ForModel: true, ForViews: true}, true},
	} {
		got, err := apps.ReadToolMeta(&mcp.Tool{Meta: json.RawMessage(tt.meta)})
		check.That(t, got == tt.want && (err != nil) == tt.bad, "%.80s: got %+v and %v, want %+v", tt.meta, got, err, tt.want)
	}
}

// declared connects with the options and returns the capabilities that the server got.
func declared(t *testing.T, opts *mcpclient.Options) string {
	c, seen := connect(t, opts, "", "")
	check.NoError(t, c.Close())
	if found := jsonrpc.Lookup(seen.first, "capabilities"); found != nil {
		return string(found)
	}
	return string(jsonrpc.Lookup(seen.first, "_meta", "io.modelcontextprotocol/clientCapabilities"))
}

func TestDeclare(t *testing.T) {
	const settings = `{"mimeTypes":["text/html;profile=mcp-app"]}`
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		synctest.Test(t, func(t *testing.T) {
			given := &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision, Capabilities: json.RawMessage(`{"experimental":{"e":{}},"extensions":{"com.example/x":{"n":1}}}`)}}
			for _, before := range []*mcpclient.Options{{Protocol: mcpclient.Protocol{Revision: revision}}, given} {
				got := declared(t, check.Value(apps.Declare(before))(t))
				check.Equal(t, revision, string(jsonrpc.Lookup([]byte(got), "extensions", "io.modelcontextprotocol/ui")), settings)
				check.That(t, before != given || jsonrpc.Lookup([]byte(got), "extensions", "com.example/x") != nil && jsonrpc.Lookup([]byte(got), "experimental", "e") != nil,
					"%s: got %s, want what was declared before, too", revision, got)
			}
			check.That(t, jsonrpc.Lookup([]byte(declared(t, given)), "extensions", "io.modelcontextprotocol/ui") == nil, "%s: the options given have changed", revision)
		})
	}
}

func TestDeclareRefuses(t *testing.T) {
	for _, capabilities := range []string{"[]", `"x"`, `{"extensions":[]}`, `{"extensions":{"io.modelcontextprotocol/ui":7}}`, `{"x"`} {
		opts := &mcpclient.Options{Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(capabilities)}}
		check.Fails(t, check.Err(apps.Declare(opts)), capabilities)
	}
	opts, err := apps.Declare(nil)
	check.That(t, err == nil && opts.Protocol.Capabilities != nil, "without options: got %v and %v", opts, err)
}

func TestSourcesAreBounded(t *testing.T) {
	all := make([]string, 100)
	for i := range all {
		all[i] = fmt.Sprintf("https://h%d.example.com", i)
	}
	list := check.Value(json.Marshal(all))(t)
	about, _ := apps.OfResource(json.RawMessage(`{"ui":{"csp":{"connectDomains":` + string(list) + `}}}`))
	check.That(t, slices.Equal(about.CSP.ConnectDomains, all[:64]) && len(about.Refused) == 1,
		"got %d sources, refused %q, want 64", len(about.CSP.ConnectDomains), about.Refused)
}

// A megabyte of metadata takes little memory to read.
func TestMetadataIsReadWithoutCopies(t *testing.T) {
	list := "[" + strings.Repeat("1,", 1<<19) + "1]"
	object := "{" + strings.Repeat(`"a":1,`, 1<<17) + `"b":1}`
	meta := json.RawMessage(`{"ui":{"csp":{"connectDomains":` + list + `},"permissions":` + object + `,"visibility":` + list + `}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	about, _ := apps.OfResource(meta)
	_, err := apps.ReadToolMeta(&mcp.Tool{Meta: meta})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || len(about.Refused) != 65 || err == nil {
		t.Errorf("got %d bytes allocated, %d sources refused, and the error %v, want at most 1 MiB, 65, and an error", got, len(about.Refused), err)
	}
}

func TestPrivate(t *testing.T) {
	for source, want := range map[string]bool{
		"https://example.com": false, "https://*.example.com": false, "https://192.0.2.1": false,
		"http://localhost:1": true, "http://127.0.0.1": true, "https://10.1.2.3": true, "https://192.168.1.1:80": true, "https://169.254.169.254": true,
		"https://[::1]": true, "https://[fd00::1]": true, "https://100.64.0.1": true, "https://100.128.0.1": false, "https://127.1": true, "https://0x7f000001": true, "https://[::ffff:10.0.0.1]": true, "https://[::ffff:7f00:1]": true, "https://[64:ff9b::7f00:1]": true, "https://[::7f00:1]": true, "https://198.18.0.1": true, "https://printer.local": true, "https://nas.home.arpa": true, "https://home.arpa": true, "https://intranet": true,
	} {
		check.Equal(t, source, apps.IsPrivate(source), want)
	}
}
