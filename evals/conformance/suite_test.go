package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// suite is the installed suite.
type suite struct{ *testenv.NPM }

func (s suite) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Node(), append([]string{s.Module("@modelcontextprotocol/conformance/dist/index.js")}, args...)...)
	cmd.Env = append(os.Environ(), testenv.Role(asClient)) // its clients are this program again
	cmd.WaitDelay = 5 * time.Second                        // for them
	return cmd
}

// scenarios asks the suite for its client scenarios, by revision; scenarios without a revision are under "extension".
func (s suite) scenarios(t *testing.T) map[string][]string {
	out := check.Value(s.command(t.Context(), "list", "--client").Output())(t)
	found := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		name, revisions, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "]"), " [")
		if !ok {
			continue
		}
		for revision := range strings.SplitSeq(revisions, ",") {
			found[revision] = append(found[revision], strings.TrimPrefix(name, "- "))
		}
	}
	return found
}

// required asks the suite for the client scenarios that a revision demands.
func (s suite) required(t *testing.T, revision string) []string {
	out := check.Value(s.command(t.Context(), "list", "--requirements", revision).Output())(t)
	_, list, _ := strings.Cut(string(out), "Client scenarios (test against a client):\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for line := range strings.Lines(list) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), "- "))
	}
	return names
}

type observation struct{ ID, Name, Status, ErrorMessage string }

type outcome struct {
	passed []string // the ids of the checks
	wrong  []string // failures and warnings
	stderr string   // of the client
}

var startTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// run makes the suite run the scenarios of args concurrently. The error is the suite's own verdict.
func (s suite) run(ctx context.Context, client, results string, args ...string) (map[string]*outcome, error) {
	args = append([]string{"client", "--timeout", "120000", "--command", client, "-o", results}, args...) // the machine may be slow
	out, verdict := s.command(ctx, args...).CombinedOutput()
	if verdict != nil {
		verdict = fmt.Errorf("%w\n%s", verdict, out[max(0, len(out)-4<<10):])
	}
	outcomes := map[string]*outcome{}
	files := os.DirFS(results)
	err := fs.WalkDir(files, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(file) != "checks.json" {
			return err
		}
		o, err := readOutcome(files, path.Dir(file))
		outcomes[startTime.ReplaceAllString(path.Dir(file), "")] = o
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return outcomes, verdict
}

func readOutcome(files fs.FS, dir string) (*outcome, error) {
	data, err := fs.ReadFile(files, path.Join(dir, "checks.json"))
	if err != nil {
		return nil, err
	}
	var checks []observation
	if err := json.Unmarshal(data, &checks); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	stderr, err := fs.ReadFile(files, path.Join(dir, "stderr.txt"))
	if err != nil {
		return nil, err
	}
	o := &outcome{stderr: string(stderr)}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			o.passed = append(o.passed, c.ID)
		case "FAILURE", "WARNING":
			o.wrong = append(o.wrong, fmt.Sprintf("%s %s (%s): %s", c.Status, c.ID, c.Name, c.ErrorMessage))
		}
	}
	return o, nil
}

// verify fails the test unless all checks passed, and the checks in want were made.
func (o *outcome) verify(t *testing.T, want ...string) {
	t.Helper()
	for _, wrong := range o.wrong {
		t.Error(wrong)
	}
	check.That(t, len(o.passed) != 0, "no check was made")
	for _, id := range want {
		check.That(t, slices.Contains(o.passed, id), "got the checks %q passed, want %s among them", o.passed, id)
	}
	if t.Failed() {
		t.Logf("the client's stderr:\n%s", o.stderr)
	}
}

// selections are the runs of the suite. Together they have every scenario for clients under each of its revisions: the
// requirements of a revision run with its extensions and later additions of the suite.
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
	s := suite{testenv.InstallNPM(t, os.DirFS("testdata/npm"))}
	client := check.Value(os.Executable())(t)
	listed := s.scenarios(t)
	check.That(t, len(listed) == len(selections),
		"the suite lists scenarios for %q, want no more and no less than the selections", slices.Sorted(maps.Keys(listed)))
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
