package apps_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
