package results

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

func line(task string, n int, o Outcome) *Line {
	return &Line{Version: Version{Suite: "s", SuiteHash: "h", Mode: Scripted, Model: "m", Config: "c"}, Task: task, Trial: n, Outcome: o}
}

// The rate is a mean over tasks: a task with many trials counts once, and void trials do not count.
func TestSummarize(t *testing.T) {
	lines := []*Line{line("a", 0, Pass), line("a", 1, Fail), line("a", 2, Fail), line("a", 3, Fail), line("b", 0, Pass), line("b", 1, Pass)}
	s, err := Summarize(lines)
	check.That(t, err == nil && s.Rate == (0.25+1)/2 && s.Tasks == 2 && s.Trials == 6, "got %+v, %v", s, err)
	got, want := s.PassAt[2], (1-3.0/6+1)/2
	check.That(t, math.Abs(got-want) <= 1e-12, "pass@2: got %v, want %v", got, want)
	got, ok := s.PassAt[3]
	check.That(t, !ok, "pass@3 of a task with two trials: got %v", got)
	voided, err := Summarize(append(lines, line("b", 2, Void)))
	check.That(t, errors.Is(err, ErrVoid) && voided.Rate == s.Rate, "got %+v, %v", voided, err)
}

func TestRefusals(t *testing.T) {
	check.Is(t, check.Err(Summarize(nil)), ErrEmpty, "no lines")
	live := line("a", 1, Pass)
	live.Mode = Live
	check.Is(t, check.Err(Summarize([]*Line{line("a", 0, Pass), live})), ErrMixed, "two modes in a suite")
	a, _ := Summarize([]*Line{line("a", 0, Pass)})
	b, _ := Summarize([]*Line{live})
	check.Is(t, Table(&strings.Builder{}, []*Summary{a, b}), ErrMixed, "two modes in a table")
}

// A void trial is run again, and its new line counts.
func TestAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f := check.Value(Open(name))(t)
	key := line("a", 0, Void).Key()
	for _, o := range []Outcome{Void, Pass} {
		check.That(t, !f.Has(key), "the trial counts before its line is %s", o)
		check.Must(t, f.Add(line("a", 0, o)))
	}
	f.Close()
	f = check.Value(Open(name))(t)
	defer f.Close()
	lines := f.Lines()
	check.Require(t, len(lines) == 1, "got %d lines, want 1", len(lines))
	check.That(t, lines[0].Outcome == Pass && f.Has(key), "got a line that is %s", lines[0].Outcome)
}

// A line that was written in part leaves nothing before the next one.
func TestPartOfALine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f := check.Value(Open(name))(t)
	check.Must(t, f.Add(line("a", 0, Pass)))
	check.Value(f.f.Seek(0, io.SeekEnd))(t)
	check.Value(f.f.Write([]byte(lineStart)))(t) // as on a full disk
	check.Must(t, f.Add(line("b", 0, Pass)))
	f.Close()
	f = check.Value(Open(name))(t)
	defer f.Close()
	check.Equal(t, "lines", len(f.Lines()), 2)
}

// Costs are of all tasks; a task without a trial that counts has no pass@k.
func TestSummaryOfAll(t *testing.T) {
	a, b := line("a", 0, Pass), line("b", 0, Fail)
	a.Cost, b.Cost, a.Prices, b.Prices = map[string]int64{"USD": 5}, map[string]int64{"USD": 7}, "2026-11-01", "2026-11-01"
	s := check.Value(Summarize([]*Line{a, b}))(t)
	var out strings.Builder
	check.Must(t, Table(&out, []*Summary{s}))
	check.Equal(t, "millionths of a dollar", s.Cost["USD"], 12)
	head := "suite      tasks trials  pass  fail  void   rate     95 % cost (prices of 2026-11-01)\n"
	_, rest, _ := strings.Cut(out.String(), "\n")
	check.That(t, strings.HasPrefix(rest, head+"s              2      2     1     1     0  50.0%    9–91%                  0.0000 USD\n"), "got %s\nwant %s", rest, head)
	check.Contains(t, "", out.String(), "\ns: suite h\n")
	check.That(t, s.Interval.Low <= 0.1 && s.Interval.High >= 0.9, "got %+v", s)
	s, _ = Summarize([]*Line{a, line("b", 0, Void)})
	check.That(t, len(s.PassAt) == 0, "pass@1 of a task without a trial that counts: got %v", s.PassAt)
}

// A line that was cut by a crash is removed, and the file continues.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f := check.Value(Open(name))(t)
	check.Must(t, f.Add(line("a", 0, Pass)))
	check.Fails(t, f.Add(line("a", 0, Pass)), "a trial has two lines")
	f.Close()
	cut := check.Value(os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0))(t)
	_, _ = cut.WriteString(`{"suite":"s","tas`)
	cut.Close()
	f = check.Value(Open(name))(t)
	defer f.Close()
	check.Must(t, f.Add(line("a", 1, Fail)))
	data, err := os.ReadFile(name)
	lines, err2 := Parse(data)
	check.That(t, err == nil && err2 == nil && len(lines) == 2 && f.Has(lines[1].Key()), "got %s, %v, %v", data, err, err2)
}

// Two programs with one file would overwrite each other's lines.
func TestTwoPrograms(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f := check.Value(Open(name))(t)
	check.Text(t, check.Err(Open(name)), "another program writes its results there")
	check.Must(t, f.Close())
	check.Must(t, check.Value(Open(name))(t).Close())
}

// A file of something else is refused, and not changed.
func TestForeignFile(t *testing.T) {
	for _, text := range []string{"one line", "{}\n", `{"mcpServers":{}}`, "[]\n", `{"suite":"s"}` + "\n", `{"suite":"s","outcome":"pass"}` + "\nthe rest"} {
		name := filepath.Join(t.TempDir(), "f")
		check.Must(t, os.WriteFile(name, []byte(text), 0o600))
		f, err := Open(name)
		if err == nil {
			f.Close()
		}
		data := check.Value(os.ReadFile(name))(t)
		check.That(t, err != nil && strings.Contains(err.Error(), "is not a result of a trial") && string(data) == text, "%q: got %v and %q", text, err, data)
	}
}

// Whatever a file has, it is read or refused, and what is read is written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"suite":"s","suite_hash":"h","task":"t","trial":1,"outcome":"pass","scores":[{"grader":"answer","value":0.5}]}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := Parse(data)
		if err != nil || len(lines) == 0 {
			return
		}
		_, _ = Summarize(lines) // must not panic
	})
}

// The intervals are SciPy's.
func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		name      string
		got       Interval
		low, high float64
	}{
		{"7 of 10", wilson(0.7, 10, 0.95), 0.3967781, 0.8922087}, {"none of 5", wilson(0, 5, 0.95), 0, 0.4344825},
		{"all of 5", wilson(1, 5, 0.95), 0.5655175, 1}, {"nothing", wilson(0, 0, 0.95), 0, 1},
	} {
		check.That(t, math.Abs(test.got.Low-test.low) <= 1e-4 && math.Abs(test.got.High-test.high) <= 1e-4,
			"%s: got %v, want %v to %v", test.name, test.got, test.low, test.high)
	}
}

// The document fits junit-10.xsd of the xUnit plugin of Jenkins.
func TestJUnit(t *testing.T) {
	one, two, three := line("a", 0, Pass), line("a", 1, Fail), line("b", 0, Void)
	one.Duration, two.Reason, three.Suite, three.Reason = time.Second, "<why>\nmore \x00", "other", "the endpoint failed"
	var out strings.Builder
	check.Must(t, JUnit(&out, []*Line{one, two, three}))
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="1">
  <testsuite name="s" tests="2" failures="1" errors="0" time="1.000">
    <testcase name="a/0" classname="s" time="1.000"></testcase>
    <testcase name="a/1" classname="s" time="0.000">
      <failure message="&lt;why&gt;">&lt;why&gt;&#xA;more �</failure>
    </testcase>
  </testsuite>
  <testsuite name="other" tests="1" failures="0" errors="1" time="0.000">
    <testcase name="b/0" classname="other" time="0.000">
      <error message="the endpoint failed">the endpoint failed</error>
    </testcase>
  </testsuite>
</testsuites>`
	check.Same(t, "the document", out.String(), want)
}
