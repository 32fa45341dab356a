package conformance

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// selections are the runs of the suite. Together they have every scenario for
// clients under each of its revisions: the requirements of a revision run with
// its extensions and later additions of the suite.
var selections = []struct {
	name string // the revision, or "extension" for other scenarios
	args []string
}{
	{"2026-07-28", []string{"--requirements", "2026-07-28"}},
	{"2025-11-25", []string{"--requirements", "2025-11-25"}},
	{"2025-06-18", []string{"--suite", "all", "--spec-version", "2025-06-18"}},
	{"2025-03-26", []string{"--suite", "all", "--spec-version", "2025-03-26"}},
	{"extension", []string{"--suite", "all"}},
}

// must are checks that scenarios have to make: a client that reads no skill would pass otherwise.
var must = map[string]string{
	"sep-2640-client-no-prefetch":        "sep-2640-host-no-prefetch",
	"sep-2640-client-verify-digest":      "sep-2640-host-verify-digest",
	"sep-2640-client-verify-size":        "sep-2640-host-size-mismatch-failure",
	"sep-2640-client-verify-frontmatter": "sep-2640-host-frontmatter-comparison",
}

// TestConformance runs every client scenario of the official suite, under each
// of its revisions. No check may fail or warn, and each run must make some.
func TestConformance(t *testing.T) {
	s := install(t)
	client, err := os.Executable()
	check.Must(t, err)
	listed := s.scenarios(t)
	if len(listed) != len(selections) {
		t.Errorf("the suite lists scenarios for %q, want no more and no less than the selections", slices.Sorted(maps.Keys(listed)))
	}
	for _, sel := range selections {
		t.Run(sel.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			outcomes, verdict := s.run(ctx, client, t.TempDir(), sel.args...)
			check.NoError(t, verdict, "the suite's verdict")
			if sel.args[0] == "--requirements" {
				wantAll(t, outcomes, s.required(t, sel.name))
			}
			wantAll(t, outcomes, listed[sel.name])
			if sel.name == "extension" {
				wantAll(t, outcomes, slices.Collect(maps.Keys(must)))
			}
			for _, name := range slices.Sorted(maps.Keys(outcomes)) {
				t.Run(name, func(t *testing.T) {
					if id := must[name]; id != "" {
						outcomes[name].verify(t, id)
					} else {
						outcomes[name].verify(t)
					}
					t.Logf("%d checks passed", len(outcomes[name].passed))
				})
			}
		})
	}
}

// wantAll fails the test unless there are names, and each has its outcome.
func wantAll(t *testing.T, outcomes map[string]*outcome, names []string) {
	t.Helper()
	check.That(t, len(names) != 0, "the suite names no scenario")
	for _, name := range names {
		check.That(t, outcomes[name] != nil, "%s was not run", name)
	}
}
