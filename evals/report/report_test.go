package report

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/check"
)

// attack is what a model, a server or a program may have written.
const attack = `</pre></td><script>console.error("attack")</script><img src=x onerror="console.error('attack')">`

// data has each part of a page, with an attack in each text.
func data() *Data {
	line := func(task string, mode results.Mode, o results.Outcome) *results.Line {
		return &results.Line{
			Suite: "s" + attack, SuiteHash: "h", Task: task + attack, Mode: mode, Model: "m" + attack, Config: string(mode), Outcome: o, Reason: attack,
			Scores:     []results.Score{{Grader: "answer" + attack, Value: 1, Gate: true, Why: attack}},
			Transcript: []results.Entry{{Who: "assistant" + attack, Kind: "text", Name: attack, Text: "said " + attack}},
		}
	}
	return &Data{
		Date: time.Unix(0, 0),
		Checks: []*check.Check{
			{Kind: "conformance", Name: "a" + attack, Outcome: check.Fail, Text: attack},
			{Kind: "interop", Name: "TestPeer/x" + attack, Outcome: check.Pass},
			{Kind: "bench", Name: "pipe/" + attack, Subject: "ours", Values: map[string]float64{"cpu_ratio": 1.2}},
			{Kind: "bench", Name: "pipe/idle", Subject: attack, Values: map[string]float64{"bytes_per_session": 4096}},
			{Kind: "loop", Name: attack, Outcome: check.Pass},
			{Kind: "chaos", Name: attack, Outcome: check.Pass, Values: map[string]float64{"calls": 5}},
		},
		Trials: []*results.Line{line("one", results.Scripted, results.Pass), line("two", results.Scripted, results.Fail), line("one", results.Live, results.Fail)},
	}
}

func TestWrite(t *testing.T) {
	var page bytes.Buffer
	if err := Write(&page, data()); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"<script", "<img", `href="http`, `src="http`} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for what, want := range map[string]int{`<table class="chart"`: 2, `<details class="trial"`: 3, `<section class="mode"`: 2} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("got %d times %s, want %d", got, what, want)
		}
	}
	old := data()
	older := *old.Trials[0]
	older.SuiteHash = "older"
	older.Date = older.Date.Add(-time.Hour)
	old.Trials = append(old.Trials, &older)
	page.Reset()
	if err := Write(&page, old); err != nil || strings.Count(page.String(), `<details class="trial"`) != 3 || !strings.Contains(page.String(), "1 lines are left out") {
		t.Errorf("a line of an older version of the suite is shown, %v", err)
	}
	if strings.Contains(page.String(), `id="missing"`) {
		t.Error("a page of all commands lacks one")
	}
}

// A page has sections of what has results, and one line names the other commands.
func TestSections(t *testing.T) {
	for _, c := range []struct {
		data     *Data
		sections int
		missing  string
	}{
		{&Data{}, 0, "<code>conformance</code>, <code>interop</code>, <code>bench</code>, <code>loop</code>, <code>chaos</code>, <code>agent</code>: "},
		{&Data{Trials: data().Trials}, 1, "<code>conformance</code>, <code>interop</code>, <code>bench</code>, <code>loop</code>, <code>chaos</code>: "},
		{&Data{Checks: data().Checks}, 4, "There are no results of <code>agent</code>: "},
	} {
		var page bytes.Buffer
		if err := Write(&page, c.data); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(page.String(), "<h2 "); got != c.sections || !strings.Contains(page.String(), c.missing) {
			t.Errorf("got %d sections, want %d and the line %s in\n%s", got, c.sections, c.missing, page.String())
		}
	}
}

// consoleLine is how Chromium logs what a page writes to its console.
var consoleLine = regexp.MustCompile(`(?m)^.*CONSOLE.*$`)

// browse opens a page in Chromium, and returns its document and what was written to the console.
func browse(t *testing.T, page []byte) (dom, console string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	if err := os.WriteFile(name, page, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+name)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatal(err, log.String())
	}
	return out.String(), consoleLine.FindString(log.String())
}

// Chromium opens the page: nothing runs, nothing is complained about, and each chart and drill-down is
// there. The same script in a page without the policy is seen.
func TestBrowser(t *testing.T) {
	if _, said := browse(t, []byte(`<!DOCTYPE html><script>console.error("attack")</script>`)); !strings.Contains(said, "attack") {
		t.Fatalf("the console of a page that writes to it has %q", said)
	}
	var page bytes.Buffer
	if err := Write(&page, data()); err != nil {
		t.Fatal(err)
	}
	dom, said := browse(t, page.Bytes())
	if said != "" {
		t.Errorf("the console has %s", said)
	}
	for what, want := range map[string]int{`<details class="trial"`: 3, `<div class="who`: 3, `<pre class="reason"`: 3, `<table class="chart"`: 2, `<div class="bar`: 2} {
		if got := strings.Count(dom, what); got != want {
			t.Errorf("got %d times %s, want %d", got, what, want)
		}
	}
}
