package results

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func line(task string, n int, o Outcome) *Line {
	return &Line{Suite: "s", SuiteHash: "h", Task: task, Trial: n, Mode: Scripted, Model: "m", Config: "c", Outcome: o}
}

// The rate is a mean over tasks: a task with many trials counts once, and void trials do not count.
func TestSummarize(t *testing.T) {
	lines := []*Line{line("a", 0, Pass), line("a", 1, Fail), line("a", 2, Fail), line("a", 3, Fail), line("b", 0, Pass), line("b", 1, Pass)}
	s, err := Summarize(lines)
	if err != nil || s.Rate != (0.25+1)/2 || s.Tasks != 2 || s.Trials != 6 {
		t.Errorf("got %+v, %v", s, err)
	}
	if got, want := s.PassAt[2], (1-3.0/6+1)/2; math.Abs(got-want) > 1e-12 {
		t.Errorf("pass@2: got %v, want %v", got, want)
	}
	if got, ok := s.PassAt[3]; ok {
		t.Errorf("pass@3 of a task with two trials: got %v", got)
	}
	voided, err := Summarize(append(lines, line("b", 2, Void)))
	if !errors.Is(err, ErrVoid) || voided.Rate != s.Rate || voided.WorstRate != (0.25+2.0/3)/2 || voided.BestRate != s.Rate {
		t.Errorf("got %+v, %v", voided, err)
	}
}

func TestRefusals(t *testing.T) {
	if _, err := Summarize(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("no lines: got %v", err)
	}
	live := line("a", 1, Pass)
	live.Mode = Live
	if _, err := Summarize([]*Line{line("a", 0, Pass), live}); !errors.Is(err, ErrMixed) {
		t.Errorf("two modes in a suite: got %v", err)
	}
	a, _ := Summarize([]*Line{line("a", 0, Pass)})
	b, _ := Summarize([]*Line{live})
	if err := Table(&strings.Builder{}, []*Summary{a, b}); !errors.Is(err, ErrMixed) {
		t.Errorf("two modes in a table: got %v", err)
	}
	if _, err := Compare(a, b, 1); !errors.Is(err, ErrMixed) {
		t.Errorf("two modes compared: got %v", err)
	}
}

// A difference that chance may explain is not told.
func TestCompare(t *testing.T) {
	sum := func(passed func(i int) bool) *Summary {
		var lines []*Line
		for i := range 20 {
			o := Fail
			if passed(i) {
				o = Pass
			}
			lines = append(lines, line(string(rune('a'+i)), 0, o))
		}
		s, err := Summarize(lines)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, most, few := sum(func(int) bool { return true }), sum(func(i int) bool { return i > 1 }), sum(func(i int) bool { return i < 4 })
	near, err := Compare(all, most, 1)
	if err != nil || near.Apart() || !strings.Contains(near.String(), "not told apart") {
		t.Errorf("got %v, %v", near, err)
	}
	same, err := Compare(all, all, 1)
	if err != nil || same.Apart() {
		t.Errorf("a model and itself: got %v, %v", same, err)
	}
	far, err := Compare(all, few, 1)
	if err != nil || !far.Apart() || math.Abs(far.Mean-0.8) > 1e-9 {
		t.Errorf("got %v, %v", far, err)
	}
}

// Chance alone tells no models apart: few tasks never do, whatever they say, and several suites are one
// comparison.
func TestApart(t *testing.T) {
	of := func(rate float64) *Summary {
		s := &Summary{Rates: map[string]float64{}}
		for i := range 12 {
			s.Rates[string(rune('a'+i))] = rate
		}
		return s
	}
	for _, test := range []struct {
		a, b   float64
		tasks  int
		suites int
		want   bool
	}{{1, 0, 1, 1, false}, {1, 0, 12, 1, true}, {0, 1, 12, 1, true}, {0.75, 0.25, 12, 1, true}, {0.75, 0.25, 12, 20, false}, {0.5, 0.5, 12, 1, false}} {
		a, b := of(test.a), of(test.b)
		for i := test.tasks; i < 12; i++ {
			delete(b.Rates, string(rune('a'+i)))
		}
		d, err := Compare(a, b, test.suites)
		if err != nil || d.Tasks != test.tasks || d.Apart() != test.want {
			t.Errorf("%+v: got %v, %v", test, d, err)
		}
	}
}

// A void trial is run again, and its new line counts; so does the new line of a trial that is forgotten.
func TestAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	key := line("a", 0, Void).Key()
	for _, o := range []Outcome{Void, Fail} {
		if f.Has(key) {
			t.Errorf("the trial counts before its line is %s", o)
		}
		if err := f.Add(line("a", 0, o)); err != nil {
			t.Fatal(err)
		}
	}
	if f.Forget(key); f.Has(key) {
		t.Error("a trial that is forgotten counts")
	}
	if err := f.Add(line("a", 0, Pass)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if f, err = Open(name); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lines := f.Lines(); len(lines) != 1 || lines[0].Outcome != Pass || !f.Has(key) {
		t.Errorf("got %d lines, the first %s", len(lines), lines[0].Outcome)
	}
}

// Of several versions of a suite or of the program, the newest counts; other models are apart.
func TestCurrent(t *testing.T) {
	at := func(l *Line, minute int, hash, program, model string) *Line {
		l.Date, l.SuiteHash, l.Program, l.Model = time.Unix(int64(60*minute), 0), hash, program, model
		return l
	}
	lines := []*Line{
		at(line("a", 0, Fail), 1, "old", "p", "m"), at(line("a", 0, Fail), 2, "h", "older", "m"), at(line("a", 0, Void), 3, "h", "p", "m"),
		at(line("b", 0, Pass), 4, "h", "p", "m"), at(line("a", 0, Pass), 5, "h", "p", "m"), at(line("a", 0, Fail), 1, "old", "p", "n"),
	}
	current, out := Current(lines)
	var got []string
	for _, l := range current {
		got = append(got, fmt.Sprintln(l.Model, l.SuiteHash, l.Program, l.Task, l.Outcome))
	}
	slices.Sort(got)
	if want := []string{"m h p a pass\n", "m h p b pass\n", "n old p a fail\n"}; !slices.Equal(got, want) || out != 3 {
		t.Errorf("got %q, %d left out; want %q", got, out, want)
	}
}

// Hashes and costs are of all tasks, in whatever order the trials ended; a task without a trial that counts has no pass@k.
func TestSummaryOfAll(t *testing.T) {
	a, b := line("a", 0, Pass), line("b", 0, Fail)
	a.PromptHash, b.PromptHash, a.Cost, b.Cost, a.Prices, b.Prices = "1", "2", map[string]int64{"USD": 5}, map[string]int64{"USD": 7}, "2026-11-01", "2026-11-01"
	s, err := Summarize([]*Line{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Summarize([]*Line{b, a}); err != nil || r.PromptHash != s.PromptHash || s.PromptHash == "" {
		t.Errorf("got hashes %q and %q, %v", s.PromptHash, r.PromptHash, err)
	}
	var out strings.Builder
	if err := Table(&out, []*Summary{s}); err != nil || !strings.Contains(out.String(), "0.0000 USD") || !strings.Contains(out.String(), "prices of 2026-11-01") || s.Cost["USD"] != 12 {
		t.Errorf("got %s, %v", out.String(), err)
	}
	head := "suite      tasks trials  pass  fail  void   rate     95 % cost (prices of 2026-11-01)\n"
	if _, rest, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(rest, head+"s              2      2     1     1     0  50.0%    9–91%                  0.0000 USD\n") {
		t.Errorf("got %s\nwant %s", rest, head)
	}
	if end := "s: suite h, prompts " + s.PromptHash + ", tools –\n"; !strings.HasSuffix(out.String(), end) {
		t.Errorf("got %s\nwant at the end %s", out.String(), end)
	}
	if s.Interval.Low > 0.1 || s.Interval.High < 0.9 {
		t.Errorf("got %+v", s)
	}
	if err := s.NeedsTrials(1); err != nil {
		t.Error(err)
	}
	if s, _ := Summarize([]*Line{a, line("b", 0, Void)}); s.NeedsTrials(1) == nil || len(s.PassAt) > 0 {
		t.Errorf("pass@1 of a task without a trial that counts: got %v", s.PassAt)
	}
}

// A line that was cut by a crash is removed, and the file goes on.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Add(line("a", 0, Pass)); err != nil {
		t.Fatal(err)
	}
	if err := f.Add(line("a", 0, Pass)); err == nil {
		t.Error("a trial has two lines")
	}
	f.Close()
	cut, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = cut.WriteString(`{"suite":"s","tas`)
	cut.Close()
	f, err = Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Add(line("a", 1, Fail)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if lines, err2 := Parse(data); err != nil || err2 != nil || len(lines) != 2 || !f.Has(lines[1].Key()) {
		t.Errorf("got %s, %v, %v", data, err, err2)
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
		if current, out := Current(lines); len(current) == 0 || len(current)+out != len(lines) {
			t.Errorf("%q: got %d current lines and %d others of %d", data, len(current), out, len(lines))
		}
		_, _ = Summarize(lines) // must not panic
	})
}
