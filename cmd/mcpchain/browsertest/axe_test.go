package browsertest_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// axe is the source of axe-core, which finds what keeps people from using a page.
var axe struct {
	sync.Once
	source string
}

func loadAxe(t *testing.T) string {
	t.Helper()
	axe.Do(func() {
		data, err := os.ReadFile(testenv.InstallNPM(t, os.DirFS("testdata/npm")).Module("axe-core/axe.min.js"))
		if err != nil {
			t.Fatal(err) // the tests after this one fail below
		}
		axe.source = string(data)
	})
	check.Require(t, axe.source != "", "there is no axe-core; the first test that needs it says why")
	return axe.source
}

// accessible has axe find no serious violation in what the page shows, in light and dark, and takes a picture.
func (w *person) accessible(state string) {
	w.t.Helper()
	w.shoot(state)
	if !eval[bool](w, "'axe' in window") {
		value(w, chromedp.Evaluate[chromedp.Void](loadAxe(w.t)))
	}
	for _, scheme := range []string{"light", "dark"} {
		w.prefer(scheme)
		found := eval[[]string](w, `axe.run().then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical")
			.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200) + " " + n.failureSummary).join("; ")))`)
		check.That(w.t, len(found) == 0, "%s, %s: %s", state, scheme, strings.Join(found, "\n"))
	}
	w.prefer("light")
}
