package apps_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Servers of the official repository, whose views are made with the official library: each view
// begins, gets the call and its result, draws values of the result, tells its size, and is torn
// down. TestOfficialHost has four more.
func TestServers(t *testing.T) {
	servers := testenv.InstallNPM(t, os.DirFS("testdata/servers"))
	for _, tt := range []struct {
		name, tool string
		calls      string // what the view itself calls, "" for nothing
		drawn      string // what text says of the result r, in JavaScript
	}{
		{"basic-react", "get-time", "", `text.includes(r.content[0].text)`},
		{"budget-allocator", "get-budget-data", "", `r.structuredContent.config.categories.every((c) => text.includes(c.name))`},
		{"customer-segmentation", "get-customer-data", "tools/call get-customer-data", `[...text.matchAll(/\((\d+)\)/g)].reduce((n, m) => n + Number(m[1]), 0) === JSON.parse(r.content[0].text).customers.length`},
		{"scenario-modeler", "get-scenario-data", "", `r.structuredContent.templates.every((t) => text.includes(t.name))`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(t, servers, tt.name, tt.tool)
			c.inSession(t, func(s *shown) {
				s.draws(c, tt.drawn)
				if tt.calls != "" {
					s.answered(tt.calls)
				}
				s.await("the view to say its size", func() bool {
					return eval[bool](s, `heard.some((m) => m.method === "ui/notifications/size-changed")`)
				})
				all := s.errors()
				check.That(t, len(all) == 0, "the console says %q", all)
			})
		})
	}
}

// draws waits until the view shows the result of its call, as the expression in JavaScript says.
func (s *shown) draws(c *call, expression string) {
	s.t.Helper()
	raw, err := json.Marshal(c.result)
	check.Must(s.t, err)
	inView[bool](s, fmt.Sprintf("parent !== top && ((r, text) => %s)(%s, document.body.innerText)", expression, raw), "true")
}
